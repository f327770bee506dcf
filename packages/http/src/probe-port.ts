/** Checks whether a port is available, or picks a free one. */
import { explainListenError } from './listen-error.ts'

/**
 * Throws a `ListenError` with the remedy if another program uses the port. Needed for ports that
 * will be shared: the kernel lets another program of the same user share them, too.
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
