/** The arguments of a task. */
import { parseArgs } from 'node:util'

/** Like `parseArgs`, except that a mistyped argument ends the program with one line instead of a stack trace. */
export const parseTaskArguments: typeof parseArgs = (config) => {
  try {
    return parseArgs(config)
  } catch (error) {
    if (!isMistyped(error)) throw error
    refuseArguments(`${error.message}; --help as the first argument lists what there is`)
  }
}

/** The one argument of a task that takes exactly one; `expected` says what it is and how to name it. */
export function onlyArgument(given: readonly string[], expected: string): string {
  const [argument] = given
  if (argument === undefined || given.length !== 1) refuseArguments(`expected ${expected}`)
  return argument
}

/** Ends the program with one line and exit code 2: mistakes on the command line need no stack trace. */
export function refuseArguments(message: string): never {
  console.error(`error: ${message}`)
  process.exit(2)
}

function isMistyped(error: unknown): error is Error {
  return (
    error instanceof Error &&
    String((error as { code?: unknown }).code).startsWith('ERR_PARSE_ARGS')
  )
}
