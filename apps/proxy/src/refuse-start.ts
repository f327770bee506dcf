/** Ends the program when it cannot start. */
import { describeError, ServiceError } from '@privatemode/service'
import { program } from './flag-table.ts'

/** One sentence and exit code 2; an error unrelated to the settings keeps its stack for bug reports. */
export function refuseStart(error: unknown): void {
  const known = error instanceof ServiceError || describeError(error).detail !== undefined
  const text = known && error instanceof Error ? error.message : Bun.inspect(error)
  process.stderr.write(`${program.name}: ${text}\n`)
  process.exitCode = 2
  process.exit()
}
