/** Times work whose limit is close to the delays of a busy machine. */

/** The minimum of a few tries, stopping at the first that is fast enough: a real stall recurs each time. */
export async function leastMs(
  enoughMs: number,
  work: () => Promise<void>,
  tries = 5,
): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < tries && least >= enoughMs; attempt++) {
    const started = performance.now()
    await work()
    least = Math.min(least, performance.now() - started)
  }
  return least
}
