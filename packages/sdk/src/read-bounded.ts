/** Reads a body whose sender is not trusted to stop. */
import { type Bytes, joinBytes } from '@privatemode/protocol/envelope'
import type { AnswerTimeout } from './answer-timeout.ts'

/**
 * Returns the whole body, or `undefined` if it is longer than `limit`; the rest is then not read. A
 * declared length is trusted only if it exceeds the limit: a body that was compressed in transit
 * can be longer than declared.
 */
export async function readBounded(
  response: Response,
  limit: number,
  answerTimeout?: AnswerTimeout,
): Promise<Bytes | undefined> {
  if (response.body === null) return new Uint8Array()
  const reader = (response.body as ReadableStream<Bytes>).getReader()
  const pieces: Bytes[] = []
  let length = Number(response.headers.get('content-length') ?? 0) > limit ? Infinity : 0
  while (length <= limit) {
    const reading = reader.read()
    const { done, value } = await (answerTimeout?.next(reading) ?? reading).catch((error) => {
      void reader.cancel().catch(() => {})
      throw error
    })
    if (done) return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : joinBytes(pieces)
    length += value.length
    pieces.push(value)
  }
  await reader.cancel().catch(() => {}) // the body is abandoned either way
  return undefined
}
