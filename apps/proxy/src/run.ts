/** Runs the program: reads the settings and serves, in this process or in several. */
import { formatHelp } from '@privatemode/service'
import { program } from './flag-table.ts'
import { refuseStart } from './refuse-start.ts'
import { type ReadSettings, readSettings, type Settings } from './settings.ts'

export async function run(args: readonly string[]): Promise<void> {
  let read: ReadSettings
  try {
    read = readSettings({ args, env: process.env })
  } catch (error) {
    return refuseStart(error)
  }
  switch (read.kind) {
    case 'help':
      return void process.stdout.write(formatHelp(program))
    case 'version':
      return void process.stdout.write(`${program.name} ${program.version}\n`)
    case 'settings':
      return serve(read.settings)
  }
}

/** Loaded only where it is used: what one way needs is memory for the other. */
async function serve(settings: Settings): Promise<void> {
  if (settings.processes === 1) {
    const { serveAlone } = await import('./serve-alone.ts')
    return serveAlone(settings)
  }
  const { supervise } = await import('./processes/supervise.ts')
  return supervise(settings)
}
