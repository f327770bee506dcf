/** The arguments of a task. */
import { parseArgs } from 'node:util'

/** Like `parseArgs`, except that a mistyped argument ends the program with one line instead of a stack trace. */
export const parseTaskArguments: typeof parseArgs = (config) => {
  try {
    return parseArgs(config)
  } catch (error) {
    if (!isMistyped(error)) throw error
    console.error(`error: ${error.message}; --help as the first argument lists what there is`)
    process.exit(2)
  }
}

function isMistyped(error: unknown): error is Error {
  return (
    error instanceof Error &&
    String((error as { code?: unknown }).code).startsWith('ERR_PARSE_ARGS')
  )
}
