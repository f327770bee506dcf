/** What a long run has started ends with it, also when it is stopped by hand. */

/**
 * Not once: Ctrl-C arrives up to three times, since npm and our launcher forward what the terminal sends to all of
 * them, and a second signal without a listener would end the clean-up itself.
 */
export function cleanUpOnSignal(cleanUp: () => Promise<void>): void {
  let isEnding = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (isEnding) return
      isEnding = true
      void cleanUp().finally(() => process.exit(130))
    })
  }
}
