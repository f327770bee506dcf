/** Runs a worker, or one of its commands. */
import { onShutdown } from '@privatemode/service'
import { chooseEngine } from './choose-engine.ts'
import { runCommand } from './commands.ts'
import { parseSettings } from './settings.ts'
import { startWorker } from './worker.ts'

export async function run(args: readonly string[]): Promise<void> {
  const { env } = process
  try {
    const printed = await runCommand(args, env, new Date())
    if (printed !== undefined) end(printed)
    const parsed = parseSettings({ args, env })
    if (parsed.kind === 'text') end(parsed.text)
    const worker = await startWorker(parsed.settings, { env, createEngine: chooseEngine })
    onShutdown({ stop: () => worker.stop(), limitMs: parsed.settings.drainMs + 10_000 })
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.message : 'the worker failed'}\n`)
    process.exit(1)
  }
}

function end(text: string): never {
  process.stdout.write(text)
  process.exit(0)
}
