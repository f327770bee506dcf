/** PID 1 of the confidential machine. If it ends, the kernel panics and the machine is gone. */
import { boot, say } from './boot.ts'

try {
  await boot()
} catch (error) {
  say(`stopped: ${error instanceof Error ? error.message : 'unknown failure'}`)
  process.exit(1)
}
