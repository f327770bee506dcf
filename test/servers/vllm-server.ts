/** A real vLLM with the tiny model: started, asked for its own counts, killed, started again at the same port. */
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const modelName = 'tiny'
const modelFolder = fileURLToPath(new URL('./model/tiny', import.meta.url))

/** One thread and one gigabyte of cache: it runs beside other work. */
const environment = {
  VLLM_CPU_KVCACHE_SPACE: '1',
  VLLM_CPU_OMP_THREADS_BIND: 'nobind',
  OMP_NUM_THREADS: '1',
  KMP_BLOCKTIME: '0',
  HF_HUB_OFFLINE: '1',
  VLLM_NO_USAGE_STATS: '1',
  DO_NOT_TRACK: '1',
  TORCHDYNAMO_DISABLE: '1',
}

export const variants = {
  chat: ['--enable-auto-tool-choice', '--tool-call-parser', 'hermes'],
  reasoning: ['--reasoning-parser', 'qwen3'],
  embed: ['--runner', 'pooling', '--convert', 'embed'],
} as const
export type Variant = keyof typeof variants

/** Seconds on a quiet machine, many minutes on a busy one. */
const startLimitMs = 1_800_000

export class VllmServer {
  readonly url: string
  readonly isOwn: boolean
  readonly #command: readonly string[]
  readonly #folder = mkdtempSync(join(tmpdir(), 'privatemode-vllm-'))
  #child: Bun.Subprocess | undefined

  /** A server that runs already has a url instead of a port: it is used, and never started or killed. */
  constructor(program: string, variant: Variant, at: number | string) {
    const port = typeof at === 'number' ? at : 0
    this.isOwn = typeof at === 'number'
    this.url = typeof at === 'number' ? `http://127.0.0.1:${port}` : at
    const length = variant === 'embed' ? '512' : '4096'
    const generating = ['--enable-prefix-caching', '--enable-prompt-tokens-details']
    this.#command = [
      ...[program, 'serve', modelFolder, '--served-model-name', modelName],
      ...['--host', '127.0.0.1', '--port', `${port}`, '--dtype', 'bfloat16'],
      ...['--max-model-len', length, '--max-num-seqs', '32', '--enforce-eager'],
      ...(variant === 'embed' ? [] : generating),
      ...variants[variant],
    ]
  }

  get logFile(): string {
    return join(this.#folder, 'vllm.log')
  }

  async start(): Promise<void> {
    if (!this.isOwn) return await this.#warmUp()
    const log = openSync(this.logFile, 'a')
    this.#child = Bun.spawn([...this.#command], {
      env: { ...process.env, ...environment },
      ...{ stdout: log, stderr: log, stdin: 'ignore' },
    })
    for (const end = Date.now() + startLimitMs; Date.now() < end; await Bun.sleep(500)) {
      if (this.#child.exitCode !== null) break
      const health = await fetch(`${this.url}/health`).catch(() => undefined)
      if (health?.ok) return await this.#warmUp()
    }
    const log_ = readFileSync(this.logFile, 'utf8').slice(-3000)
    await this.stop()
    throw new Error(`vLLM did not start:\n${log_}`)
  }

  /** The first answer loads what later ones have; a normal one, for a single token has ended engines. */
  async #warmUp(): Promise<void> {
    const messages = [{ role: 'user', content: 'Say hello.' }]
    const body = JSON.stringify({ model: modelName, messages, max_tokens: 8 })
    const headers = { 'content-type': 'application/json' }
    await fetch(`${this.url}/v1/chat/completions`, { method: 'POST', headers, body })
  }

  /** A counter of vLLM's own metrics, summed over its labels. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text()
    const lines = text.split('\n').filter((line) => line.startsWith(`vllm:${name}{`))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  async version(): Promise<string> {
    const answer = (await (await fetch(`${this.url}/version`)).json()) as { version: string }
    return answer.version
  }

  /** `engine` is the process that computes; `server` the one that speaks HTTP. */
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

  async stop(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child !== undefined) {
      const engines = childrenOf(child.pid)
      child.kill('SIGTERM')
      await Promise.race([child.exited, Bun.sleep(20_000)])
      if (child.exitCode === null) child.kill('SIGKILL')
      await child.exited
      for (const pid of engines) killPid(pid)
    }
  }

  async dispose(): Promise<void> {
    await this.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
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
