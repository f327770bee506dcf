/** Goes on at once with what is there, and later with what is not: most requests need no promise. */
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
