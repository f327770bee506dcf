/** A real model server with the tiny model: started, asked for its own counts, killed, started again at the same port. */
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerKind } from '../../packages/inference/src/servers/http-settings.ts'

export const modelName = 'tiny'

/** What a server is started for: its flags differ. */
export type Variant = 'chat' | 'reasoning' | 'embed' | 'vision'
export type ServerName = 'vLLM' | 'SGLang' | 'llama-server' | 'Ollama'

/** How a server is run and where it tells its own counts. */
export type ServerPlan = {
  readonly name: ServerName
  /** As the worker calls it. */
  readonly kind: ServerKind
  readonly variants: readonly Variant[]
  readonly command: (variant: Variant, port: number) => readonly string[]
  readonly environment: (port: number) => Readonly<Record<string, string>>
  readonly directory?: string
  readonly healthPath: string
  readonly version: (url: string) => Promise<string>
  /** Makes what the command needs, before it runs. */
  readonly make?: (variant: Variant) => Promise<void>
  /** Loads the model where the command does not. */
  readonly prepare?: (url: string) => Promise<void>
  /** Names of its counters, without what its tools add; undefined where it has none. */
  readonly counters: Counters | undefined
  /** Flags of the stack for this server. */
  readonly stackFlags: readonly string[]
  /** Whether it keeps callers apart by salts: else nothing of a prompt is kept at all. */
  readonly isSalted: boolean
}

/** `images` counts those that were not processed again. */
type Counters = Readonly<Record<'prompt' | 'output' | 'hits' | 'running', string>> & {
  readonly images?: string
}
export type Counter = keyof Counters

/** Seconds on a quiet machine, many minutes on a busy one. */
const startLimitMs = 1_800_000

export class RealServer {
  readonly url: string
  readonly isOwn: boolean
  readonly plan: ServerPlan
  readonly variant: Variant
  readonly #port: number
  readonly #prefix: readonly string[]
  readonly #folder = mkdtempSync(join(tmpdir(), 'privatemode-server-'))
  #child: Bun.Subprocess | undefined
  #stopped = Promise.resolve()

  /**
   * A server that runs already has a url instead of a port: it is used, and never started or killed.
   * `processors` are those that the server and all its processes may use.
   */
  constructor(plan: ServerPlan, variant: Variant, at: number | string, processors?: string) {
    this.plan = plan
    this.#prefix = processors === undefined ? [] : ['taskset', '-c', processors]
    this.variant = variant
    this.#port = typeof at === 'number' ? at : 0
    this.isOwn = typeof at === 'number'
    this.url = typeof at === 'number' ? `http://127.0.0.1:${at}` : at
  }

  get logFile(): string {
    return join(this.#folder, 'server.log')
  }

  async start(): Promise<void> {
    if (!this.isOwn) return await this.#warmUp()
    await this.plan.make?.(this.variant)
    const log = openSync(this.logFile, 'a')
    const { command, environment, directory, healthPath, name } = this.plan
    const child = Bun.spawn([...this.#prefix, ...command(this.variant, this.#port)], {
      env: { ...process.env, ...environment(this.#port), HOME: this.#folder },
      ...{ stdout: log, stderr: log, stdin: 'ignore' },
      ...(directory === undefined ? {} : { cwd: directory }),
    })
    this.#child = child
    for (const end = Date.now() + startLimitMs; Date.now() < end; await Bun.sleep(500)) {
      // Stopped by a signal, which also ends this program.
      if (this.#child !== child) return await new Promise(() => {})
      if (child.exitCode !== null) break
      const health = await fetch(`${this.url}${healthPath}`).catch(() => undefined)
      if (health?.ok) return await this.#warmUp()
    }
    const said = readFileSync(this.logFile, 'utf8').slice(-3000)
    await this.stop()
    throw new Error(`${name} did not start:\n${said}`)
  }

  /** The first answer loads what later ones have; a normal one, for a single token has ended engines. */
  async #warmUp(): Promise<void> {
    if (this.isOwn) await this.plan.prepare?.(this.url)
    const input = 'Say hello.'
    const messages = [{ role: 'user', content: input }]
    // A chat ends an SGLang server that was started for embeddings.
    const [path, asked] =
      this.variant === 'embed'
        ? (['embeddings', { input }] as const)
        : (['chat/completions', { messages, max_tokens: 8 }] as const)
    const body = JSON.stringify({ model: modelName, ...asked })
    const headers = { 'content-type': 'application/json' }
    await fetch(`${this.url}/v1/${path}`, { method: 'POST', headers, body })
  }

  /** One of its own counters, summed over its labels. */
  async count(counter: Counter): Promise<number> {
    const name = this.plan.counters?.[counter]
    if (name === undefined) throw new Error(`${this.plan.name} does not count`)
    const text = await (await fetch(`${this.url}/metrics`)).text()
    const lines = text.split('\n').filter((line) => /^[{ ]/.test(line.slice(name.length)))
    const own = lines.filter((line) => line.startsWith(name))
    return own.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  version(): Promise<string> {
    return this.plan.version(this.url)
  }

  /** `engine` is what computes, where that is a process of its own; `server` the one that speaks HTTP. */
  async kill(which: 'server' | 'engine'): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    const engines = childrenOf(child.pid)
    if (which === 'engine') for (const pid of engines) killPid(pid)
    else {
      child.kill('SIGKILL')
      await child.exited
      for (const pid of engines) killPid(pid)
    }
  }

  get hasEngineProcess(): boolean {
    return this.#child !== undefined && childrenOf(this.#child.pid).length > 0
  }

  /** Whoever calls it while it is being stopped waits for the end, too. */
  stop(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child !== undefined) this.#stopped = end(child)
    return this.#stopped
  }

  async dispose(): Promise<void> {
    await this.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

async function end(child: Bun.Subprocess): Promise<void> {
  const engines = childrenOf(child.pid)
  child.kill('SIGTERM')
  await Promise.race([child.exited, Bun.sleep(20_000)])
  if (child.exitCode === null) child.kill('SIGKILL')
  await child.exited
  for (const pid of engines) killPid(pid)
}

function childrenOf(pid: number): number[] {
  const { stdout } = Bun.spawnSync(['ps', '--ppid', String(pid), '-o', 'pid='])
  const direct = stdout
    .toString()
    .split('\n')
    .map(Number)
    .filter((id) => id > 0)
  return direct.flatMap((id) => [id, ...childrenOf(id)])
}

function killPid(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
