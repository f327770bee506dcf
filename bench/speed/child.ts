/** Programs that a benchmark starts, pins to a core, observes and stops. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { childEnvironment } from '@privatemode/service/end-with-parent'

export type Side = 'measured' | 'around'

export type Child = {
  readonly name: string
  readonly pid: number
  readonly exited: Promise<number>
  /** The first line that it writes to standard output. */
  readonly firstLine: Promise<string>
  stop(): Promise<void>
}

export const root = join(import.meta.dir, '../..')
const running = new Set<Pick<Child, 'stop'>>()
const stopWithinMs = 5_000
const ticksPerSecond = 100

/** Measured programs share the first core, everything else uses the second, if both are available. */
export const isPinned = mayUse(0) && mayUse(1) && Bun.which('taskset') !== null

/** A container or `taskset` may allow fewer cores than the machine has. */
function mayUse(core: number): boolean {
  if (!existsSync('/proc/self/status')) return cpus().length > core
  const allowed = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))
  return (allowed?.[1] ?? '').split(',').some((range) => {
    const [first = Number.NaN, last = first] = range.split('-').map(Number)
    return first <= core && core <= last
  })
}

export function pinned(side: Side, command: readonly string[]): string[] {
  if (!isPinned) return [...command]
  return ['taskset', '-c', side === 'measured' ? '0' : '1', ...command]
}

export function startChild(
  name: string,
  side: Side,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd: string = root,
): Child {
  const spawned = Bun.spawn(pinned(side, command), {
    cwd,
    // Programs of ours end by themselves if this one is killed.
    env: childEnvironment({ ...keptEnvironment(), ...env }),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: process.env.BENCH_DEBUG === undefined ? 'ignore' : 'inherit',
  })
  const child: Child = {
    name,
    pid: spawned.pid,
    exited: spawned.exited,
    firstLine: readFirstLine(spawned.stdout),
    async stop() {
      running.delete(child)
      spawned.kill('SIGTERM')
      const timer = setTimeout(() => spawned.kill('SIGKILL'), stopWithinMs)
      await spawned.exited
      clearTimeout(timer)
    },
  }
  running.add(child)
  return child
}

/** For a program that was started in another way. */
export function stopLater(program: Pick<Child, 'stop'>): void {
  const once = {
    async stop() {
      if (running.delete(once)) await program.stop()
    },
  }
  running.add(once)
}

/** Stops all started programs, the last first: a worker reports its last usage to its gateway. */
export async function stopAll(): Promise<void> {
  for (const child of [...running].reverse()) await child.stop()
}

function keptEnvironment(): Record<string, string> {
  const kept = { PATH: process.env.PATH, HOME: process.env.HOME, LANG: 'C.UTF-8' }
  return Object.fromEntries(
    Object.entries(kept).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

/** Keeps reading after the line, so that the program never blocks on its output. */
function readFirstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const read = async () => {
    let text: string | undefined = ''
    for await (const chunk of stream) {
      if (text === undefined) continue
      text += new TextDecoder().decode(chunk)
      if (!text.includes('\n')) continue
      resolve(text.split('\n')[0] ?? '')
      text = undefined
    }
    resolve('')
  }
  read().catch(() => resolve(''))
  return promise
}

/** CPU time of a process and its children, all threads. */
export function cpuSeconds(pid: number): number {
  let ticks = 0
  for (const one of familyOf(pid)) ticks += statOf(one)?.ticks ?? 0
  return ticks / ticksPerSecond
}

export type Usage = {
  readonly seconds: number
  /** Of that, in the kernel. */
  readonly kernelSeconds: number
  /** Of that, by threads of the runtime: neither the main thread nor one that runs our code. */
  readonly besideSeconds: number
  /** How often the first threads went to sleep. */
  readonly sleeps: number
}

/** The same in its parts. */
export function usageOf(pid: number): Usage {
  let [ticks, kernel, beside, sleeps] = [0, 0, 0, 0]
  for (const one of familyOf(pid)) {
    const [all, first] = [statOf(one), statOf(one, `task/${one}/`)]
    if (all === undefined || first === undefined) continue
    ticks += all.ticks
    kernel += all.kernelTicks
    beside += all.ticks - first.ticks - ticksOfOurThreads(one)
    sleeps += sleepsOf(one)
  }
  const [seconds, kernelSeconds, besideSeconds] = [ticks, kernel, beside].map(
    (count) => count / ticksPerSecond,
  ) as [number, number, number]
  return { seconds, kernelSeconds, besideSeconds, sleeps }
}

/** The gateway's embedded database has a thread of its own. */
function ticksOfOurThreads(pid: number): number {
  let ticks = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const path = `task/${thread}/`
    if (nameOf(pid, path) === 'Worker') ticks += statOf(pid, path)?.ticks ?? 0
  }
  return ticks
}

/** As the runtime named it. */
function nameOf(pid: number, thread: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${thread}comm`, 'utf8').trim()
  } catch {
    return undefined // it ended in the meantime
  }
}

/** The same of each process by itself. */
export function cpuSecondsEach(pid: number): Map<number, number> {
  const each = familyOf(pid).map(
    (one) => [one, (statOf(one)?.ticks ?? 0) / ticksPerSecond] as const,
  )
  return new Map(each)
}

/** Peak resident memory since `resetPeak`, of a process and its children. */
export function peakMiB(pid: number): number {
  let kib = 0
  for (const one of familyOf(pid)) {
    try {
      const status = readFileSync(`/proc/${one}/status`, 'utf8')
      kib += Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0)
    } catch {
      // it ended in the meantime
    }
  }
  return kib / 1024
}

export function resetPeak(pid: number): void {
  for (const one of familyOf(pid)) {
    try {
      writeFileSync(`/proc/${one}/clear_refs`, '5')
    } catch {
      // without permission, the peak is that of the whole run
    }
  }
}

function familyOf(pid: number): number[] {
  const family = [pid]
  const parents = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? statOf(Number(name))?.parent : undefined
    if (parent !== undefined) parents.set(parent, [...(parents.get(parent) ?? []), Number(name)])
  }
  for (const one of family) family.push(...(parents.get(one) ?? []))
  return family
}

type Stat = { readonly parent: number; readonly ticks: number; readonly kernelTicks: number }

/** Of a process, or of one of its threads. */
function statOf(pid: number, thread = ''): Stat | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/${thread}stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const kernelTicks = Number(fields[12])
    return { parent: Number(fields[1]), ticks: Number(fields[11]) + kernelTicks, kernelTicks }
  } catch {
    return undefined
  }
}

function sleepsOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0)
  } catch {
    return 0
  }
}

export const canMeasure = existsSync('/proc/self/stat')

export function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  probe.stop(true)
  return probe.port
}

/** Waits until something answers HTTP there; throws after the limit. */
export async function untilAnswers(url: string, limitMs: number, status?: number): Promise<void> {
  const endMs = performance.now() + limitMs
  while (performance.now() < endMs) {
    const init = { signal: AbortSignal.timeout(2_000), tls: { rejectUnauthorized: false } }
    const response = await fetch(url, init).catch(() => undefined)
    if (response !== undefined && (status === undefined || response.status === status)) return
    await Bun.sleep(50)
  }
  throw new Error(`nothing answered within ${limitMs / 1000} s`)
}
