/** Ends a gateway that has lost its database: whoever started it knows how to start it again. */
import { describeError, type Log } from '@privatemode/service'
import type { OnLost } from './database.ts'

/** Without its state a gateway could only refuse, and health checks would not tell why. */
export function endWhenLost(
  log: Log,
  exit: (code: number) => void = (code) => process.exit(code),
): OnLost {
  return (error) => {
    log.error('embedded database failed; exiting', describeError(error))
    log.flush()
    exit(1)
  }
}
