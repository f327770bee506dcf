/** Finds out whether a port can be had, and which one where any will do. */
import { explainListenError } from './listen-error.ts'

/**
 * Throws a `ListenError` that says the remedy where another program has the port.
 *
 * For ports that will be shared: the kernel lets another program of the same user share, too.
 */
export function probePort(hostname: string, port: number): number {
  try {
    const probe = Bun.listen({ hostname, port, exclusive: true, socket: { data() {} } })
    probe.stop(true)
    return probe.port
  } catch (cause) {
    throw explainListenError(cause, hostname, port, false)
  }
}
