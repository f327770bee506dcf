/** A message that is not HTTP/1.1 as we read it; the connection ends with the answer. */
export class MessageError extends Error {
  override readonly name = 'MessageError'
  /** What to answer: 400, 408, 411, 413, 417, 431, 501, 503 or 505. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}
