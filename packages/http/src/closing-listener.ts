/** Stops new connections to a listener about to close: those in its queue would be reset. */
import { attachProgram, findListeningSocket, type Instruction } from './socket-filter.ts'

const soAttachFilter = 26
const soAttachReuseportCbpf = 51

/** BPF_RET|BPF_K: returns `k`. */
const result = (k: number): Instruction => [0x06, 0, 0, k]

/**
 * Attaches a filter to the port's socket group (socket(7), SO_ATTACH_REUSEPORT_CBPF) that always
 * selects the second one. While a listener is alone in the group, it is served as if there were no
 * filter. As soon as a second one listens, it gets all new connections, and the first can empty its
 * queue and close. Returns whether it worked; it never does on systems other than Linux.
 */
export function preferNewestListener(port: number): boolean {
  return attach(findSocket(port), soAttachReuseportCbpf, [result(1)])
}

/**
 * For a port shared by several processes, where no listener is the newest of all. Call it before
 * opening another listener, and its result afterwards. The filter drops only segments that open a
 * connection (SYN): handshakes in progress complete, and a client that connects at this moment
 * retries a second later, when another listener is chosen.
 */
export function prepareQuieting(port: number): () => boolean {
  const descriptor = findSocket(port)
  return () =>
    attach(descriptor, soAttachFilter, [
      [0x30, 0, 0, 13], // BPF_LD|BPF_B|BPF_ABS: the flags of the TCP header
      [0x45, 0, 1, 0x02], // BPF_JMP|BPF_JSET: SYN
      result(0),
      result(0xffffffff),
    ])
}

// Without the call or /proc, a hand-over is slightly less smooth.
function findSocket(port: number): number | undefined {
  try {
    return findListeningSocket(port)
  } catch {
    return undefined
  }
}

function attach(
  descriptor: number | undefined,
  option: number,
  program: readonly Instruction[],
): boolean {
  try {
    return descriptor !== undefined && attachProgram(descriptor, option, program)
  } catch {
    return false
  }
}
