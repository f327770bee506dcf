/** Clocks of streams that tick together: who waits for the same moment shares a timer and a wake-up. */

/**
 * Streams tick in so many groups. Every stream with a phase of its own wakes each program on its way
 * once a tick, for one frame; all in one phase would be much to do at once. The phase is that of the
 * process and knows nothing of what a stream says.
 */
const groups = 5

const waiting = new Map<number, Promise<void>>()

/** The first moment at or after this one at which a group with this tick is due. */
export function alignTick(ms: number, tickMs: number): number {
  const step = tickMs / groups
  return Math.ceil(ms / step) * step
}

/** Resolves at a moment of `performance.now()`, for all who wait for it in one turn. */
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
