/** Stream clocks that tick together: waiters for the same moment share a timer and a wake-up. */

/**
 * Streams tick in this many groups. If every stream had its own phase, it would wake each program
 * along the way once per tick for a single frame; a single phase would be too much work at once.
 * The phase belongs to the process and is independent of a stream's content.
 */
const groups = 5

const waiting = new Map<number, Promise<void>>()

/** The first moment at or after this one at which a group with this tick is due. */
export function alignTick(ms: number, tickMs: number): number {
  const step = tickMs / groups
  return Math.ceil(ms / step) * step
}

/** Resolves at a moment of `performance.now()`, for all its waiters in one turn. */
export function untilTick(dueMs: number): Promise<void> | undefined {
  const leftMs = dueMs - performance.now()
  if (leftMs <= 0) return undefined
  const known = waiting.get(dueMs)
  if (known !== undefined) return known
  const { promise, resolve } = Promise.withResolvers<void>()
  waiting.set(dueMs, promise)
  setTimeout(() => {
    waiting.delete(dueMs)
    resolve()
  }, leftMs)
  return promise
}
