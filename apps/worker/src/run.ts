/** Runs a worker, or one of its commands. */
import { writeSync } from 'node:fs'
import { createLog, type Log, onShutdown } from '@privatemode/service'
import { type NativeOutput, takeOverOutput } from '@privatemode/service/native-output'
import { chooseEngine } from './choose-engine.ts'
import { runCommand } from './commands.ts'
import { reportCrashesTo } from './crash-report.ts'
import { parseSettings } from './settings.ts'
import { startWorker } from './worker.ts'

export async function run(args: readonly string[]): Promise<void> {
  const { env } = process
  let native: NativeOutput | undefined
  try {
    const printed = await runCommand(args, env, new Date())
    if (printed !== undefined) end(printed)
    const parsed = parseSettings({ args, env })
    if (parsed.kind === 'text') end(parsed.text)
    const { settings } = parsed
    if (settings.engine.kind === 'embedded') native = takeOverOutput()
    const descriptor = native?.ownError
    reportCrashesTo(descriptor ?? 2)
    const log = createLog({ format: settings.logFormat, level: settings.logLevel, descriptor })
    const nativeLines = native === undefined ? undefined : reportLines(native, log)
    const around = { env, createEngine: chooseEngine, log, nativeLines }
    const worker = await startWorker(settings, around)
    onShutdown({ stop: () => worker.stop(), limitMs: settings.drainMs + 10_000 })
  } catch (error) {
    const message = error instanceof Error ? error.message : 'the worker failed'
    writeSync(native?.ownError ?? 2, `error: ${message}\n`)
    process.exit(1)
  }
}

const reportEveryMs = 2_000

function reportLines(native: NativeOutput, log: Log): () => number {
  let reported = 0
  const timer = setInterval(() => {
    const lines = native.countLines()
    if (lines === reported) return
    log.warn('dropped output of native code', { count: lines - reported })
    reported = lines
  }, reportEveryMs)
  timer.unref()
  return () => native.countLines()
}

function end(text: string): never {
  process.stdout.write(text)
  process.exit(0)
}
