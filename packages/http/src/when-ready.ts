/** Continues immediately with a value, or later with a promise: most requests need no promise. */
export function whenReady<T>(
  value: T | Promise<T>,
  next: (value: T) => void,
  fail: (error: unknown) => void,
): void {
  if (value instanceof Promise) {
    value.then(next).catch(fail)
    return
  }
  try {
    next(value)
  } catch (error) {
    fail(error)
  }
}
