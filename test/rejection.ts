/**
 * Awaits a rejection before asserting on it. `expect(promise).rejects` spins the event loop until the
 * promise settles, which starves hashing, engines, servers and processes that the promise waits for.
 */

/** A promise, or a function that returns one. */
type Pending = unknown

/** The error that a promise is rejected with; throws if it is fulfilled. */
export async function rejection(pending: Pending): Promise<unknown> {
  try {
    await (typeof pending === 'function' ? pending() : pending)
  } catch (error) {
    return error
  }
  throw new Error('expected a rejection, but the promise was fulfilled')
}

/** The same as a function that throws the error, for `toThrow`. */
export async function thrown(pending: Pending): Promise<() => never> {
  const error = await rejection(pending)
  return () => {
    throw error
  }
}
