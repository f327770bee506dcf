/** Lets a listener that is about to close get no new connections: those in its queue would be reset. */
import { attachProgram, findListeningSocket, type Instruction } from './socket-filter.ts'

const soAttachFilter = 26
const soAttachReuseportCbpf = 51

/** BPF_RET|BPF_K: the result is `k`. */
const result = (k: number): Instruction => [0x06, 0, 0, k]

/**
 * Attaches a filter to the port's group of sockets (socket(7), SO_ATTACH_REUSEPORT_CBPF) that always names the
 * second one. Alone in the group, a listener is served as if there were no filter. As soon as a second one listens,
 * all new connections are its, and the first can empty its queue and close. Says whether it worked; elsewhere than
 * on Linux it does not.
 */
export function preferNewestListener(port: number): boolean {
  return attach(findSocket(port), soAttachReuseportCbpf, [result(1)])
}

/**
 * For a port that several processes listen on, where no listener is the newest of all; to be called before another is
 * opened, and its result after that. The filter drops what begins a connection (a segment with SYN) and nothing
 * else: handshakes under way come to their end, and who begins one in this moment begins it again a second later, by
 * when another listener is chosen.
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

// A runtime without the call, or without /proc: a hand-over is then a little less smooth.
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
