/** How fast this machine's memory is: it decides what a request costs, and on a shared host it changes by the hour. */

/** 64 MiB, more than a core keeps close to itself. */
const entries = 2 ** 24
const reads = 1_000_000
const tries = 3

/** Nanoseconds for one random read, each at the address that the previous one returned. */
export function randomReadNs(): number {
  const next = new Uint32Array(entries)
  // A congruential generator of full period (Knuth, TAOCP 3.2.1.2): the chain visits every entry.
  for (let at = 0; at < entries; at++)
    next[at] = (Math.imul(at, 1_664_525) + 1_013_904_223) & (entries - 1)
  let [at, leastMs] = [0, Number.POSITIVE_INFINITY]
  for (let turn = 0; turn < tries; turn++) {
    const startMs = performance.now()
    for (let read = 0; read < reads; read++) at = next[at] ?? 0
    leastMs = Math.min(leastMs, performance.now() - startMs)
  }
  // The last address is used, or a compiler could leave out the reads.
  return at < entries ? (leastMs * 1e6) / reads : Number.NaN
}
