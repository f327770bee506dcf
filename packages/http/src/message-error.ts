/** A message that is not valid HTTP/1.1 to us; the connection closes after the error answer. */
export class MessageError extends Error {
  override readonly name = 'MessageError'
  /** The status to answer with: 400, 405, 408, 411, 413, 417, 431, 501, 503 or 505. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}
