/**
 * What the proxy gains from a second process: small chats with `--workers` 1 and 2, in turns.
 *
 * On a machine with cores to spare the ratio of answers per second says it. On one without, load and backend take the
 * cores that the second process would use; there the processor time of one answer says it: two processes that share
 * nothing give twice as much, less what each answer costs more. `bun bench/proxy-cores.ts [--seconds 3] [--rounds 3]`
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freePort } from '@privatemode/service/testing'
import { type ListedProcess, listProcesses } from '../test/process-table.ts'
import { firstLine } from './first-line.ts'
import type { LoadResult, LoadSpec } from './load/load-spec.ts'
import { median } from './median.ts'

const goal = 1.7
const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32' },
  },
})
const folder = mkdtempSync(join(tmpdir(), 'privatemode-cores-'))
const manifestPath = join(folder, 'manifest.json')
/** Two backends and two loads would each keep one core busy beside two of the proxy. */
const enoughCores = 6

type Run = { readonly perSecond: number; readonly cpuUs: number; readonly shares: number[] }

const backend = Bun.spawn(
  [process.execPath, join(import.meta.dir, 'sealed-backend.ts'), '--manifest', manifestPath],
  { stdout: 'pipe', stderr: 'inherit' },
)
try {
  const { url, rootFingerprint } = JSON.parse(await firstLine(backend.stdout)) as Facts
  const ratios = { clock: [] as number[], cpu: [] as number[] }
  for (let round = 0; round < Number(options.rounds); round++) {
    const one = await measure(1, url, rootFingerprint)
    const two = await measure(2, url, rootFingerprint)
    ratios.clock.push(two.perSecond / one.perSecond)
    ratios.cpu.push((2 * one.cpuUs) / two.cpuUs)
    for (const [count, run] of [one, two].entries()) {
      const shares = run.shares.map((share) => `${(100 * share).toFixed(0)}%`).join(' ')
      console.log(
        `workers ${count + 1}: ${run.perSecond.toFixed(0)} answers/s, ${run.cpuUs.toFixed(0)} µs of processor each, by process ${shares}`,
      )
    }
  }
  const cores = availableParallelism()
  const enough = cores >= enoughCores
  const measured = enough ? ratios.clock : ratios.cpu
  const ratio = median(measured)
  const range = `${Math.min(...measured).toFixed(2)} to ${Math.max(...measured).toFixed(2)}`
  const verdict = ratio >= goal ? 'met' : enough ? 'MISSED' : `not shown on ${cores} cores`
  console.log(
    `two processes against one: ${ratio.toFixed(2)} × by ${enough ? 'the clock' : 'processor time'} (${range})  goal ≥ ${goal}  ${verdict}`,
  )
} finally {
  backend.kill()
  rmSync(folder, { recursive: true, force: true })
}

type Facts = { readonly url: string; readonly rootFingerprint: string }

async function measure(workers: number, url: string, root: string): Promise<Run> {
  const port = freePort()
  const child = Bun.spawn(
    [
      ...[process.execPath, join(import.meta.dir, '../apps/proxy/src/main.ts')],
      ...['--port', String(port), '--workers', String(workers), '--workspace', folder],
      ...['--apiEndpoint', url, '--manifestPath', manifestPath, '--apiKey', 'bench'],
      ...['--allowSoftwareAttestation', '--softwareRootFingerprint', root],
      ...['--log-level', 'error', '--trafficShape', 'off'],
    ],
    { stdout: 'ignore', stderr: 'inherit', env: { PATH: process.env.PATH ?? '' } },
  )
  try {
    await untilReady(port)
    const seconds = Number(options.seconds)
    await load(port, Math.min(seconds, 2)) // warm
    const before = familyOf(child.pid)
    const { requests, perSecond, failures, firstFailure } = await load(port, seconds)
    const used = familyOf(child.pid).map(
      ({ pid, cpuMs }) => cpuMs - (before.find((one) => one.pid === pid)?.cpuMs ?? 0),
    )
    if (failures > 0) throw new Error(`${failures} requests failed: ${firstFailure}`)
    const total = used.reduce((sum, cpuMs) => sum + cpuMs, 0)
    const cpuUs = (total / requests) * 1000
    return { perSecond, cpuUs, shares: used.map((cpuMs) => cpuMs / total) }
  } finally {
    child.kill()
    await child.exited
  }
}

async function load(port: number, seconds: number): Promise<LoadResult> {
  const spec: LoadSpec = {
    port,
    tls: false,
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    work: { kind: 'chat', bodyBytes: 1024 },
    connections: Number(options.connections),
    seconds,
  }
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, 'load/load.ts'), JSON.stringify(spec)],
    { stdout: 'pipe', stderr: 'inherit' },
  )
  return JSON.parse(await new Response(child.stdout).text()) as LoadResult
}

async function untilReady(port: number): Promise<void> {
  for (;;) {
    const status = await fetch(`http://127.0.0.1:${port}/ready`).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) return
    await Bun.sleep(20)
  }
}

/** A process and its children. */
function familyOf(parent: number): ListedProcess[] {
  return listProcesses().filter((one) => one.pid === parent || one.parent === parent)
}
