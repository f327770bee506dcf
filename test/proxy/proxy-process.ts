/** Starts the real proxy in its own process, for tests. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { System } from '../e2e/system.ts'

const main = join(import.meta.dir, '../../apps/proxy/src/main.ts')

export type ProxyProcess = {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly workspace: string
  /** Everything it wrote to standard error so far. */
  log(): string
  /** Waits until a log line has all of these texts. */
  logged(...texts: string[]): Promise<string>
  signal(name: NodeJS.Signals): void
  readonly exited: Promise<number>
  stop(): Promise<void>
}

export type ProxyOptions = {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly workspace?: string
  /** Do not wait until it is ready. */
  readonly cold?: boolean
  /** Another build of the proxy. */
  readonly command?: readonly string[]
  /** A port to listen on; then nothing is awaited, for programs that do not log it. */
  readonly port?: number
  /** A command that runs the program inside something, and what is to be done once that runs. */
  readonly inside?: {
    readonly command: readonly string[]
    readonly connect?: (pid: number) => Promise<void>
  }
}

/** The flags that connect a proxy with a test system. */
export function systemArgs(system: System): string[] {
  const manifestPath = join(system.folder, 'manifest.json')
  writeFileSync(manifestPath, system.manifest)
  return [
    ...['--apiEndpoint', system.gatewayUrl],
    ...['--manifestPath', manifestPath],
    ...['--allowSoftwareAttestation', '--softwareRootFingerprint', system.rootFingerprint],
    ...['--trafficShape', 'off'],
  ]
}

/** The command line without these flags and their values. */
export function withoutFlags(all: readonly string[], names: readonly string[]): string[] {
  return all.filter((arg, index) => !names.includes(arg) && !names.includes(all[index - 1] ?? ''))
}

export async function startProxy(
  system: System,
  options: ProxyOptions = {},
): Promise<ProxyProcess> {
  return spawnProxy([...systemArgs(system), ...(options.args ?? [])], options)
}

export async function spawnProxy(
  args: readonly string[],
  options: ProxyOptions = {},
): Promise<ProxyProcess> {
  const workspace = options.workspace ?? mkdtempSync(join(tmpdir(), 'privatemode-proxy-'))
  const child = Bun.spawn(
    [
      ...(options.inside?.command ?? []),
      ...(options.command ?? [process.execPath, main]),
      '--port',
      String(options.port ?? 0),
      '--workspace',
      workspace,
      ...args,
    ],
    {
      env: cleanEnv(options.env),
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'pipe',
    },
  )
  await options.inside?.connect?.(child.pid)
  const log = collect(child.stderr)
  const logged = async (...texts: string[]) => {
    const has = (line: string) => texts.every((text) => line.includes(text))
    return log.find(has, `a log line with ${texts.join(', ')}`)
  }
  const findUrl = async () => {
    const line = await log.find((text) => /listening/.test(text), 'line that says the address')
    return /"?url"?[=:]"?([^" ,]+)/.exec(line)?.[1] ?? ''
  }
  const url = options.port === undefined ? await findUrl() : `http://127.0.0.1:${options.port}`
  if (options.cold !== true) await logged('msg=ready')
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid,
    workspace,
    log: log.text,
    logged,
    signal: (name) => child.kill(name),
    exited: child.exited,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 30_000)
      await child.exited
      clearTimeout(timer)
      if (options.workspace === undefined) rmSync(workspace, { recursive: true, force: true })
    },
  }
}

/** Runs the program to its end, for flags that prevent the start. */
export async function runProxy(
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = Bun.spawn([process.execPath, main, ...args], {
    env: cleanEnv(env),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

/** Resident memory in MiB. */
export function residentMiB(pid: number): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}

function cleanEnv(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/', ...extra }
}

function collect(stream: ReadableStream<Uint8Array>) {
  let text = ''
  let ended = false
  const waiting = new Set<() => void>()
  const reading = async () => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true })
      for (const wake of waiting) wake()
    }
    ended = true
    for (const wake of waiting) wake()
  }
  void reading()
  return {
    text: () => text,
    async find(has: (line: string) => boolean, what: string): Promise<string> {
      const deadline = AbortSignal.timeout(45_000)
      for (;;) {
        const line = text.split('\n').find(has)
        if (line !== undefined) return line
        if (ended || deadline.aborted) throw new Error(`no ${what} in:\n${text}`)
        const { promise, resolve } = Promise.withResolvers<void>()
        waiting.add(resolve)
        deadline.addEventListener('abort', () => resolve())
        await promise
        waiting.delete(resolve)
      }
    },
  }
}
