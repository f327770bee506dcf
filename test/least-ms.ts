/** Times work of which the bound is close to what a busy machine takes away at times. */

/** The least of a few tries, up to the first that is quick enough: what stalls does so each time. */
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
