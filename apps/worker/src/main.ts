/** Runs a worker. */
import { onShutdown } from '@privatemode/service'
import { parseSettings } from './settings.ts'
import { startWorker } from './worker.ts'

try {
  const parsed = parseSettings({ args: process.argv.slice(2), env: process.env })
  if (parsed.kind === 'text') {
    process.stdout.write(parsed.text)
    process.exit(0)
  }
  const worker = await startWorker(parsed.settings, process.env)
  onShutdown({ stop: () => worker.stop(), limitMs: parsed.settings.drainMs + 10_000 })
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : 'the worker failed'}\n`)
  process.exit(1)
}
