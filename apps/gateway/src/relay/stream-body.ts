/** Sends a body to a worker as it comes from the client, no faster than the worker takes it. */
import type { RequestBody, UpstreamConnection } from '@privatemode/http'

export function streamBody(body: RequestBody, connection: UpstreamConnection): void {
  body.stream({
    data(bytes) {
      if (connection.write(bytes)) return true
      connection.whenDrained(() => body.resume())
      return false
    },
    end: () => undefined,
  })
}
