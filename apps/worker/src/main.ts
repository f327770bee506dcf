/** Runs a worker, or with `describe` prints what a manifest must list for it. */
import { onShutdown } from '@privatemode/service'
import { chooseEngine } from './choose-engine.ts'
import { parseSettings } from './settings.ts'
import { describeWorker, startWorker } from './worker.ts'

try {
  const [first, ...rest] = process.argv.slice(2)
  const describe = first === 'describe'
  const args = describe ? rest : process.argv.slice(2)
  const parsed = parseSettings({ args, env: process.env })
  if (parsed.kind === 'text') {
    process.stdout.write(parsed.text)
    process.exit(0)
  }
  if (describe) {
    process.stdout.write(`${JSON.stringify(await describeWorker(parsed.settings, chooseEngine))}\n`)
    process.exit(0)
  }
  const worker = await startWorker(parsed.settings, {
    env: process.env,
    createEngine: chooseEngine,
  })
  onShutdown({ stop: () => worker.stop(), limitMs: parsed.settings.drainMs + 10_000 })
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : 'the worker failed'}\n`)
  process.exit(1)
}
