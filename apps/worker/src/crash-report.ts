/** Reports uncaught errors without their message, which may quote a request; the runtime would print it. */
import { writeSync } from 'node:fs'

/** From here on an uncaught error ends the process; its name and location go to this descriptor. */
export function reportCrashesTo(descriptor: number): void {
  const die = (error: unknown) => {
    writeSync(descriptor, `error: the worker failed: ${describeCrash(error)}\n`)
    process.exit(1)
  }
  process.on('uncaughtException', die)
  process.on('unhandledRejection', die)
}

function describeCrash(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  // The stack begins with the message, which may have lines that look like places.
  const places = (error.stack ?? '').replaceAll(error.message || '\n\n', '')
  const frames = places.split('\n').filter((line) => /^\s+at /.test(line))
  return [error.name, ...frames].join('\n')
}
