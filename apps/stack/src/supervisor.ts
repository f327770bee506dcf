/** Keeps the parts running as separate processes: restarts with back-off, stops in order. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { childEnvironment } from '@privatemode/service/end-with-parent'

export type Part = {
  readonly name: string
  /** Path of the program's main file. */
  readonly program: string
  readonly args: readonly string[]
}

export type SupervisorOptions = {
  readonly logDir: string
  /** Reports events to the user; the parts' own logs go to files. */
  readonly say: (line: string) => void
}

const firstPauseMs = 500
const maxPauseMs = 30_000
/** A part that ran this long restarts with the shortest pause. */
const steadyMs = 60_000
const maxLogBytes = 20 * 1024 * 1024

export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #running = new Map<string, ChildProcess>()
  readonly #exits = new Map<string, Promise<void>>()
  readonly #timers = new Set<ReturnType<typeof setTimeout>>()
  #stopping = false

  constructor(options: SupervisorOptions) {
    this.#options = options
    mkdirSync(options.logDir, { recursive: true, mode: 0o700 })
  }

  start(part: Part, pauseMs = firstPauseMs): void {
    const startedAt = Date.now()
    const log = openLog(this.logPath(part.name))
    // Its own session: Ctrl-C reaches only the stack, which then stops the parts in order.
    const child = spawn(process.execPath, [part.program, ...part.args], {
      detached: true,
      stdio: ['ignore', log, log],
      env: {
        ...childEnvironment(process.env),
        // With this set, a part need not restart itself to have more than 256 requests open.
        BUN_CONFIG_MAX_HTTP_REQUESTS: process.env.BUN_CONFIG_MAX_HTTP_REQUESTS ?? '16384',
      },
    })
    closeSync(log)
    this.#running.set(part.name, child)
    const exited = new Promise<void>((resolve) => {
      child.once('exit', (code, signal) => {
        this.#running.delete(part.name)
        resolve()
        if (this.#stopping) return
        const steady = Date.now() - startedAt > steadyMs
        this.#restart(part, steady ? firstPauseMs : pauseMs, signal ?? `exit code ${code}`)
      })
    })
    this.#exits.set(part.name, exited)
  }

  logPath(name: string): string {
    return join(this.#options.logDir, `${name}.log`)
  }

  /** Whether the part's process is currently running. */
  isRunning(name: string): boolean {
    return this.#running.has(name)
  }

  pidOf(name: string): number | undefined {
    return this.#running.get(name)?.pid
  }

  /** Stops the parts one after the other; those that do not end in time are killed. */
  async stop(names: readonly string[], limitMs: number): Promise<void> {
    this.#stopping = true
    for (const timer of this.#timers) clearTimeout(timer)
    for (const name of names) {
      const child = this.#running.get(name)
      if (child === undefined) continue
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), limitMs)
      await this.#exits.get(name)
      clearTimeout(late)
    }
  }

  /** Kills every part immediately, with everything it has started. */
  async kill(): Promise<void> {
    this.#stopping = true
    for (const timer of this.#timers) clearTimeout(timer)
    for (const { pid } of this.#running.values()) {
      try {
        // Each part leads its own process group.
        if (pid !== undefined) process.kill(-pid, 'SIGKILL')
      } catch {
        // it has just exited
      }
    }
    await Promise.all(this.#exits.values())
  }

  #restart(part: Part, pauseMs: number, reason: string): void {
    const { say } = this.#options
    const last = lastLine(this.logPath(part.name))
    say(`${part.name} exited (${reason}); restarting it in ${pauseMs / 1000} s`)
    if (last !== '') say(`  its last line: ${last}`)
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.start(part, Math.min(pauseMs * 2, maxPauseMs))
    }, pauseMs)
    this.#timers.add(timer)
  }
}

/** Appends, and truncates a file that has grown too long. */
function openLog(path: string): number {
  let flags = 'a'
  try {
    if (statSync(path).size > maxLogBytes) flags = 'w'
  } catch {
    // does not exist yet: it is created
  }
  return openSync(path, flags, 0o600)
}

function lastLine(path: string): string {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) ?? ''
  } catch {
    return ''
  }
}
