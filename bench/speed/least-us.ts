/** The CPU time of a piece of work: the minimum of many tries. */

export type Stage = { readonly name: string; readonly us: number }

/** A stage is measured `tries` times, in loops of so many calls. */
export type Effort = { readonly tries: number; readonly calls: number }

export function leastUs({ tries, calls }: Effort, work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round <= tries; round++) {
    const before = process.cpuUsage()
    for (let call = 0; call < calls; call++) work()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / calls)
  }
  return least
}

/** The same for work that waits, one call after the other. */
export async function leastUsLater(
  { tries, calls }: Effort,
  work: () => Promise<unknown>,
): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round <= tries; round++) {
    const before = process.cpuUsage()
    for (let call = 0; call < calls; call++) await work()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / calls)
  }
  return least
}

/** The native provider's results are available synchronously. */
export function settled<T>(value: T | Promise<T>): T {
  if (value instanceof Promise) throw new TypeError('the native provider answers at once')
  return value
}
