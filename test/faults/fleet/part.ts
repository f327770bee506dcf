/** One program of the fleet in its own process, which can be killed, stopped and restarted. */
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'

export type PartOptions = {
  readonly name: string
  readonly command: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly logPath: string
  readonly isReady: () => Promise<boolean>
}

const startMs = 60_000
// Children end with the program that watches over them, however that one ends.
const leash = existsSync('/usr/bin/setpriv') ? ['setpriv', '--pdeathsig', 'KILL', '--'] : []

export class Part {
  readonly options: PartOptions
  #child: ReturnType<typeof Bun.spawn> | undefined
  #stopped = false

  constructor(options: PartOptions) {
    this.options = options
  }

  get name(): string {
    return this.options.name
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && !this.#child.killed
  }

  /** Starts the program and waits until it answers. */
  async start(): Promise<void> {
    this.spawn()
    const endMs = performance.now() + startMs
    while (!(await this.options.isReady().catch(() => false))) {
      if (this.#child?.exitCode != null) throw new Error(this.#explain('ended'))
      if (performance.now() > endMs) throw new Error(this.#explain('was not ready in time'))
      await Bun.sleep(50)
    }
  }

  spawn(): void {
    const log = openSync(this.options.logPath, 'a')
    this.#stopped = false
    try {
      this.#child = Bun.spawn([...leash, ...this.options.command], {
        stdin: 'ignore',
        stdout: log,
        stderr: log,
        env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', ...this.options.env },
      })
    } finally {
      closeSync(log)
    }
  }

  /** Kills it without warning, as a power cut would. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#child?.exited
  }

  pause(): void {
    this.#signal('SIGSTOP')
    this.#stopped = true
  }

  resume(): void {
    if (this.#stopped) this.#signal('SIGCONT')
    this.#stopped = false
  }

  /** Stops it cleanly, or by force if that takes too long. */
  async end(graceMs = 5_000): Promise<void> {
    if (this.#child === undefined) return
    this.resume()
    this.#signal('SIGTERM')
    const timer = setTimeout(() => this.#signal('SIGKILL'), graceMs)
    await this.#child.exited
    clearTimeout(timer)
  }

  #signal(name: NodeJS.Signals): void {
    if (this.#child?.exitCode === null) this.#child.kill(name)
  }

  #explain(what: string): string {
    const log = readFileSync(this.options.logPath, 'utf8')
    return `${this.name} ${what}:\n${log.slice(-2000)}`
  }
}
