/** Sends a body to a worker as it arrives from the client, no faster than the worker reads it. */
import { type RequestBody, releaseBytes, type UpstreamConnection } from '@privatemode/http'

/** After a piece of this size, others get a turn: a socket delivers several at once. */
const largePieceBytes = 64 * 1024

export function streamBody(
  body: Pick<RequestBody, 'stream' | 'resume'>,
  connection: Pick<UpstreamConnection, 'write' | 'whenDrained'>,
  giveTurn: () => Promise<void>,
): void {
  const resume = () => body.resume()
  const resumeInTurn = () => void giveTurn().then(resume)
  body.stream({
    data(bytes) {
      const { length } = bytes
      const wasSent = connection.write(bytes)
      // A buffered rest is still needed.
      if (wasSent) releaseBytes(bytes)
      if (wasSent && length < largePieceBytes) return true
      connection.whenDrained(length < largePieceBytes ? resume : resumeInTurn)
      return false
    },
    end: () => undefined,
  })
}
