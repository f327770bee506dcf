/** The stack as a newcomer runs it: separate processes, its own ports, a temporary home. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { childEnvironment } from '@privatemode/service/end-with-parent'
import { freePorts } from '@privatemode/service/testing'

export type RunningStack = {
  readonly home: string
  readonly proxyUrl: string
  readonly proxylessUrl: string
  readonly gatewayUrl: string
  readonly apiKey: string
  readonly ca: string
  /** Everything that it printed so far. */
  output(): string
  /** Process id of a part, from the operating system. */
  pidOf(part: 'gateway' | 'worker' | 'proxy' | 'proxyless'): number
  /** Resolves once the output matches. */
  until(pattern: RegExp, limitMs: number): Promise<void>
  stop(): Promise<number>
}

const main = fileURLToPath(new URL('../../apps/stack/src/main.ts', import.meta.url))

const stops = new Set<() => Promise<number>>()

/** Stops those that still run or start. If this program is killed, they end by themselves. */
export async function stopStacks(): Promise<void> {
  await Promise.all([...stops].map((stop) => stop()))
}

export async function runStack(args: readonly string[], keepHome?: string): Promise<RunningStack> {
  const home = keepHome ?? mkdtempSync(join(tmpdir(), 'privatemode-stack-'))
  const [proxy, proxyless, gateway] = freePorts(3)
  const child = Bun.spawn(
    [
      process.execPath,
      main,
      ...['--home', home, '--port', `${proxy}`, '--proxylessPort', `${proxyless}`],
      ...['--gatewayPort', `${gateway}`, ...args],
    ],
    { stdout: 'pipe', stderr: 'pipe', env: childEnvironment(process.env) },
  )
  let output = ''
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) output += decoder.decode(chunk, { stream: true })
  }
  const collected = Promise.all([collect(child.stdout), collect(child.stderr)])
  const until = async (pattern: RegExp, limitMs: number) => {
    const deadline = Date.now() + limitMs
    while (!pattern.test(output)) {
      if (child.exitCode !== null) {
        // What it said last may be read after its end.
        await Promise.race([collected, Bun.sleep(5_000)])
        throw new Error(`the stack ended: ${output}`)
      }
      if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms: ${pattern}\n${output}`)
      await Bun.sleep(50)
    }
  }
  const stop = async () => {
    child.kill('SIGINT')
    const code = await child.exited
    await collected
    if (keepHome === undefined) rmSync(home, { recursive: true, force: true })
    stops.delete(stop)
    return code
  }
  stops.add(stop)
  try {
    await until(/is ready/, 900_000)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    home,
    proxyUrl: `http://127.0.0.1:${proxy}`,
    proxylessUrl: `https://127.0.0.1:${proxyless}`,
    gatewayUrl: `http://127.0.0.1:${gateway}`,
    apiKey: readFileSync(join(home, 'api-key'), 'utf8'),
    ca: readFileSync(join(home, 'tls', 'ca.pem'), 'utf8'),
    output: () => output,
    pidOf: (part) => findPart(child.pid, part),
    until,
    stop,
  }
}

/** The children of the stack are its parts; the program's path and flags tell which is which. */
function findPart(stackPid: number, part: string): number {
  const { stdout } = Bun.spawnSync(['ps', '--ppid', String(stackPid), '-o', 'pid=,args='])
  const app = part === 'proxyless' ? 'proxy' : part
  const line = stdout
    .toString()
    .split('\n')
    .filter((text) => text.includes(`apps/${app}/src/main.ts`))
    .find((text) => app !== 'proxy' || text.includes('--hosted') === (part === 'proxyless'))
  if (line === undefined) throw new Error(`no process for ${part}`)
  return Number(line.trim().split(' ')[0])
}
