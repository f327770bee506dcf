/** What a long run has started ends with it, also when it is stopped by hand. */
import { onShutdown } from '@privatemode/service'

/** Model servers and databases may take their time to end. */
const limitMs = 120_000

export function cleanUpOnSignal(cleanUp: () => Promise<void>): void {
  onShutdown({ stop: cleanUp, limitMs, exit: () => process.exit(130) })
}
