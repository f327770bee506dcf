/** Sends a body to a worker as it comes from the client, no faster than the worker takes it. */
import type { RequestBody } from '../http/request-body.ts'
import type { WorkerConnection } from './worker-connection.ts'

export function streamBody(body: RequestBody, connection: WorkerConnection): void {
  body.stream({
    data(bytes) {
      if (connection.write(bytes)) return true
      connection.whenDrained(() => body.resume())
      return false
    },
    end: () => undefined,
  })
}
