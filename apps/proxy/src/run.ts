/** Runs the program: settings, client, proxy, and an orderly end. */
import {
  createLog,
  createOutbound,
  describeError,
  formatHelp,
  onShutdown,
  ServiceError,
} from '@privatemode/service'
import { connect } from './connect.ts'
import { program } from './flag-table.ts'
import { startProxy } from './proxy.ts'
import { type ReadSettings, readSettings, type Settings } from './settings.ts'
import { openWorkspace } from './workspace.ts'

/** How long after the drain time the process may take to end. */
const endMarginMs = 5_000
/** Nothing moving on a connection to the backend for this long is a loss, also in a long prefill. */
const backendIdleMs = 600_000

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
      return start(read.settings)
  }
}

async function start(settings: Settings): Promise<void> {
  const log = createLog(settings.log)
  try {
    const workspace = openWorkspace(settings.workspace)
    const outbound = createOutbound({ env: process.env, idleTimeoutMs: backendIdleMs })
    const client = await connect({ settings, workspace, fetch: outbound.fetch, log })
    const proxy = startProxy(settings, { client, outbound, env: process.env, log })
    if (settings.dumpRequests) {
      log.warn(
        'requests and responses are dumped in clear text; use --dumpRequests for debugging only',
        {
          file: settings.workspace,
        },
      )
    }
    onShutdown({
      limitMs: settings.drainMs + endMarginMs,
      async stop(signal) {
        log.info('stopping: requests in flight may end', { signal })
        await proxy.stop()
        outbound.close()
        log.info('stopped')
        log.flush()
      },
    })
  } catch (error) {
    log.flush()
    refuseStart(error)
  }
}

/** One sentence and exit code 2; an error that is not about the settings keeps its stack for the report. */
function refuseStart(error: unknown): void {
  const known = error instanceof ServiceError || describeError(error).detail !== undefined
  const text = known && error instanceof Error ? error.message : Bun.inspect(error)
  process.stderr.write(`${program.name}: ${text}\n`)
  process.exitCode = 2
  process.exit()
}
