/** PID 1 of the confidential machine. If it exits, the kernel panics and the machine stops. */
import { boot, say } from './boot.ts'

try {
  await boot()
} catch (error) {
  say(`stopped: ${error instanceof Error ? error.message : 'unknown failure'}`)
  process.exit(1)
}
