/** Runs the program: reads the settings and serves, in this process or in several. */
import type { ParsedSettings } from '@privatemode/service'
import { refuseStart } from './refuse-start.ts'
import { readSettings, type Settings } from './settings.ts'

export async function run(args: readonly string[]): Promise<void> {
  let read: ParsedSettings<Settings>
  try {
    read = readSettings({ args, env: process.env })
  } catch (error) {
    return refuseStart(error)
  }
  if (read.kind === 'text') process.stdout.write(read.text)
  else await serve(read.settings)
}

/** Loaded on demand: each variant's code would only waste memory in the other. */
async function serve(settings: Settings): Promise<void> {
  if (settings.processes === 1) {
    const { serveAlone } = await import('./serve-alone.ts')
    return serveAlone(settings)
  }
  const { supervise } = await import('./processes/supervise.ts')
  return supervise(settings)
}
