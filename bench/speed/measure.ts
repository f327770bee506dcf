/** Sends one load to one target and measures its cost. */

import type { LoadResult, LoadSpec, Spread } from '../load/load-spec.ts'
import { peakMiB, pinned, resetPeak, root, type Usage, usageOf } from './child.ts'
import { watchStolen } from './stolen-time.ts'
import type { Target, TargetName } from './target.ts'
import type { Workload, WorkloadId } from './workloads.ts'

/** One target under one load, once. */
export type Sample = {
  readonly workload: WorkloadId
  readonly target: TargetName
  readonly round: number
  readonly requests: number
  readonly failures: number
  readonly firstFailure?: string
  readonly perSecond: number
  /** Requests per second of CPU time of all measured programs together. */
  readonly perCpuSecond: number
  readonly latencyUs: Spread
  readonly firstByteUs: Spread
  readonly chunkDelayUs: Spread
  readonly parts: readonly PartCost[]
  /** Number of pieces of an answer. */
  readonly piecesPerAnswer: number
  /** Of the load generator, for each request. */
  readonly loadCpuUs: number
  /** Part of the processor time that the machine's host gave to others. */
  readonly stolenPart?: number
}

export type PartCost = {
  readonly name: string
  readonly cpuUs: number
  /** Of that, in the kernel, and by threads of the runtime. */
  readonly kernelUs: number
  readonly besideUs: number
  /** How often it went to sleep, for each request. */
  readonly sleeps: number
  readonly peakMiB: number
  /** Does not count towards the target's CPU time. */
  readonly apart?: boolean
}

const graceMs = 45_000
const readyLine = 'ready\n'
const nothingUsed: Usage = { seconds: 0, kernelSeconds: 0, besideSeconds: 0, sleeps: 0 }

export async function measure(
  target: Target,
  workload: Workload,
  seconds: number,
  round: number,
  most?: number,
): Promise<Sample> {
  const parts = target.parts.filter(
    ({ name }) => (name === 'proxy with TLS') === isSecond(target, workload),
  )
  for (const { pid } of parts) resetPeak(pid)
  const used = () => parts.map(({ pid }) => usageOf(pid))
  let before = used()
  let stolen = watchStolen()
  const limit = most === undefined ? {} : { requests: most }
  const result = await load({ ...specFor(target, workload, seconds), ...limit }, () => {
    before = used()
    stolen = watchStolen()
  })
  const stolenPart = stolen()
  await target.settled?.()
  const requests = Math.max(1, result.requests)
  const after = used()
  const costs = parts.map(({ name, pid, apart }, at) => {
    const each = (read: (usage: Usage) => number) =>
      (read(after[at] ?? nothingUsed) - read(before[at] ?? nothingUsed)) / requests
    return {
      name: name === 'proxy with TLS' ? 'proxy' : name,
      cpuUs: each(({ seconds }) => seconds * 1e6),
      kernelUs: each(({ kernelSeconds }) => kernelSeconds * 1e6),
      besideUs: each(({ besideSeconds }) => besideSeconds * 1e6),
      sleeps: each(({ sleeps }) => sleeps),
      peakMiB: peakMiB(pid),
      ...(apart === true ? { apart } : {}),
    }
  })
  const cpuUs = countedUs(costs)
  return {
    workload: workload.id,
    target: target.name,
    round,
    requests: result.requests,
    failures: result.failures,
    ...(result.firstFailure === undefined ? {} : { firstFailure: result.firstFailure }),
    perSecond: result.perSecond,
    perCpuSecond: result.requests === 0 || cpuUs === 0 ? 0 : 1e6 / cpuUs,
    latencyUs: result.latencyUs,
    firstByteUs: result.firstByteUs,
    chunkDelayUs: result.chunkDelayUs,
    parts: costs,
    piecesPerAnswer: result.piecesPerAnswer,
    loadCpuUs: (result.cpuSeconds * 1e6) / requests,
    stolenPart,
  }
}

/** CPU time for one request, of all programs that count. */
export const countedUs = (parts: readonly PartCost[]): number =>
  parts.reduce((sum, { cpuUs, apart }) => sum + (apart === true ? 0 : cpuUs), 0)

/** The proxy's second process is only for TLS. */
const isSecond = (target: Target, workload: Workload): boolean =>
  workload.tls === true && target.parts.some(({ name }) => name === 'proxy with TLS')

export function specFor(target: Target, workload: Workload, seconds: number): LoadSpec {
  const { work, connections } = workload
  const path = work.kind === 'embeddings' ? '/v1/embeddings' : '/v1/chat/completions'
  return {
    port: workload.tls === true ? (target.tlsPort ?? target.port) : target.port,
    tls: workload.tls === true,
    path,
    headers: target.headers,
    work,
    connections,
    seconds,
    ...(target.modelPrefix === undefined ? {} : { modelPrefix: target.modelPrefix }),
    ...(target.sealed === undefined ? {} : { sealed: target.sealed }),
    ...(workload.once === true ? { requests: connections } : {}),
    ...(workload.churn === true ? { churn: true } : {}),
    ...(work.kind === 'steady-stream' ? { rehearse: true } : {}),
  }
}

/** Where the load rehearses, `onReady` is called before anything counts. */
export async function load(spec: LoadSpec, onReady?: () => void): Promise<LoadResult> {
  const command = [process.execPath, 'bench/load/load.ts', JSON.stringify(spec)]
  const child = Bun.spawn(pinned('around', command), {
    ...{ cwd: root, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' },
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), spec.seconds * 1000 + graceMs)
  const errors = new Response(child.stderr).text()
  let text = ''
  for await (const bytes of child.stdout) {
    text += new TextDecoder().decode(bytes)
    if (text !== readyLine) continue
    text = ''
    onReady?.()
    child.stdin.write('\n')
    child.stdin.flush()
  }
  await child.exited
  clearTimeout(timer)
  try {
    return JSON.parse(text) as LoadResult
  } catch {
    throw new Error(`the load generator broke: ${(await errors).slice(0, 500)}`)
  }
}
