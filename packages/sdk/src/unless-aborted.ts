/** Lets one caller stop waiting for something that others may share. */

/** Settles as `coming` does, or rejects with the caller's reason if the abort comes first; `coming` goes on. */
export function unlessAborted<T>(
  coming: Promise<T>,
  signal: AbortSignal | null | undefined,
): Promise<T> {
  if (signal == null) return coming
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    void coming.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
