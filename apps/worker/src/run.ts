/** Runs a worker, or with `describe` prints what a manifest must list for it. */
import { onShutdown } from '@privatemode/service'
import { chooseEngine } from './choose-engine.ts'
import { parseSettings } from './settings.ts'
import { describeWorker, startWorker } from './worker.ts'

export async function run(given: readonly string[]): Promise<void> {
  try {
    const describe = given[0] === 'describe'
    const args = describe ? given.slice(1) : given
    const parsed = parseSettings({ args, env: process.env })
    if (parsed.kind === 'text') {
      process.stdout.write(parsed.text)
      process.exit(0)
    }
    if (describe) {
      const described = await describeWorker(parsed.settings, chooseEngine)
      process.stdout.write(`${JSON.stringify(described)}\n`)
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
}
