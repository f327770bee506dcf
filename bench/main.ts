/**
 * What encryption costs, side by side: `npm run bench -- [--quick] [--report] [--only IDS] [--targets NAMES]`.
 *
 * Brings up peers and ourselves on this machine, asks all of them the same in turns, and writes
 * docs/performance/results.json, plots beside it, and docs/performance.md. `--quick` takes three
 * minutes and writes to bench/quick-results.json only; `--report` writes the document again from
 * the results that are there. Peers that cannot be had are skipped, and the tables say so.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createTestAuthority } from '../packages/service/src/testing/certificates.ts'
import { canMeasure, isPinned, root, startChild, stopAll } from './speed/child.ts'
import {
  installGateways,
  peerVersions,
  startLitellm,
  startLlms,
  startPortkey,
} from './speed/gateways.ts'
import { measure, type Sample } from './speed/measure.ts'
import { startPath, startProxy, startSealedBackend, startWholePath } from './speed/ours.ts'
import { type Place, startHaproxy, startNginx } from './speed/plain-proxies.ts'
import { writeReport } from './speed/report.ts'
import type { Results } from './speed/results.ts'
import {
  jsonType,
  type Skipped,
  type Target,
  type TargetName,
  targetNames,
} from './speed/target.ts'
import { pacedSeconds, type Workload, workloads } from './speed/workloads.ts'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    only: { type: 'string' },
    targets: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
})
const seconds = Number(options.seconds ?? (options.quick ? 1.5 : 2))
const rounds = Number(options.rounds ?? (options.quick ? 2 : 3))
/** Until a program runs as it does in the long run: compiled, its pools filled. */
const warmSeconds = options.quick ? 4 : 3
const warmRequests = {
  chat: 12_000,
  stream: 600,
  'paced-stream': 0,
  embeddings: 300,
  opaque: 12_000,
} as const

/** No measurement is begun after this. */
const limitMs = (options.quick ? 3 : 16.5) * 60_000
const startedMs = performance.now()
const quickTargets: readonly TargetName[] = ['direct', 'nginx', 'portkey', 'proxy']

if (options.report) writeReport()
else await run()

async function run(): Promise<void> {
  if (!canMeasure) {
    console.log('skipped: processor time is read from /proc, which is not there')
    return
  }
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-bench-'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => void stopAll().then(() => process.exit(1)))
  }
  try {
    const { targets, skipped } = await bringUp(folder)
    const samples = await measureAll(targets)
    finish(samples, skipped)
  } finally {
    await stopAll()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function bringUp(folder: string): Promise<{ targets: Target[]; skipped: Skipped[] }> {
  const wanted = wantedTargets()
  if (['portkey', 'llms', 'litellm'].some((name) => wanted.has(name as TargetName))) {
    await installGateways(wanted.has('litellm'))
  }
  const model = startChild('model server', 'around', [process.execPath, 'bench/model-server.ts'])
  const { port: modelPort } = JSON.parse(await model.firstLine) as { port: number }
  const place = { folder, modelPort, ...writeCertificate(folder) }
  const backend = await startSealedBackend(place)
  const needsPath = wanted.has('whole path') || wanted.has('whole path, shape off')
  const path = needsPath ? await startPath(place) : undefined
  const starts: Record<TargetName, (() => Promise<Target | Skipped>) | undefined> = {
    direct: async () => {
      const parts = [{ name: 'model server', pid: model.pid }]
      return { name: 'direct', port: modelPort, headers: jsonType, parts }
    },
    litellm: () => startLitellm(place),
    nginx: () => startNginx(place),
    haproxy: () => startHaproxy(place),
    portkey: () => startPortkey(place),
    llms: () => startLlms(place),
    proxy: () => startProxy(place, 'proxy', backend, 'default'),
    'proxy, shape off': () => startProxy(place, 'proxy, shape off', backend, 'off'),
    'whole path': path && (() => startWholePath(place, 'whole path', path, 'default')),
    'whole path, shape off':
      path && (() => startWholePath(place, 'whole path, shape off', path, 'off')),
  }
  const names = targetNames.filter((name) => wanted.has(name))
  const started = await Promise.all(names.map((name) => startOrSkip(name, starts[name])))
  const targets = started.filter((one) => 'port' in one)
  const skipped = started.filter((one) => 'why' in one)
  for (const { name, why } of skipped) console.log(`skipped: ${name}: ${why}`)
  return { targets, skipped }
}

async function startOrSkip(
  name: TargetName,
  start: (() => Promise<Target | Skipped>) | undefined,
): Promise<Target | Skipped> {
  try {
    return start === undefined ? { name, why: 'not wanted' } : await start()
  } catch (error) {
    return { name, why: `did not start: ${error instanceof Error ? error.message : error}` }
  }
}

function wantedTargets(): Set<TargetName> {
  const listed = options.targets?.split(';').map((name) => name.trim())
  const wanted = options.quick ? quickTargets : targetNames
  return new Set(wanted.filter((name) => listed === undefined || listed.includes(name)))
}

/** Rounds go over all targets in turn, so that what disturbs the machine disturbs all of them. */
async function measureAll(targets: readonly Target[]): Promise<Sample[]> {
  const samples: Sample[] = []
  const only = options.only?.split(',')
  const chosen = workloads
    .filter(({ quick }) => quick === true || !options.quick)
    .filter(({ id }) => only === undefined || only.includes(id))
  for (const workload of chosen) {
    const taking = targets.filter(({ name }) => workload.targets?.includes(name) !== false)
    if (!workload.once) for (const target of taking) await warm(target, workload)
    for (let round = 0; round < (workload.once ? Math.min(2, rounds) : rounds); round++) {
      for (const target of taking) {
        const sample = await attempt(target, workload, round)
        if (sample !== undefined) samples.push(sample)
      }
    }
  }
  return samples
}

async function warm(target: Target, workload: Workload): Promise<void> {
  if (target.name === 'direct' || isLate()) return
  await measure(target, workload, warmSeconds, -1, warmRequests[workload.work.kind]).catch(
    () => undefined,
  )
}

function isLate(): boolean {
  return performance.now() - startedMs > limitMs
}

async function attempt(
  target: Target,
  workload: Workload,
  round: number,
): Promise<Sample | undefined> {
  if (isLate()) {
    console.log(`${workload.id} ${target.name}: left out, the time is over`)
    return undefined
  }
  const time = workload.once ? pacedSeconds * 2 : seconds
  try {
    const sample = await measure(target, workload, time, round)
    const { perSecond, perCpuSecond, latencyUs, failures } = sample
    const rates = `${perSecond.toFixed(0)}/s, ${perCpuSecond.toFixed(0)} per CPU second`
    const times = `p50 ${latencyUs.p50.toFixed(0)} µs, p99 ${latencyUs.p99.toFixed(0)} µs`
    const bad = failures > 0 ? `, ${failures} FAILED (${sample.firstFailure})` : ''
    console.log(`${workload.id} ${target.name}: ${rates}, ${times}${bad}`)
    return sample
  } catch (error) {
    console.log(`${workload.id} ${target.name}: ${error instanceof Error ? error.message : error}`)
    return undefined
  }
}

function finish(samples: readonly Sample[], skipped: readonly Skipped[]): void {
  const results: Results = {
    at: new Date().toISOString().slice(0, 10),
    machine: { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, pinned: isPinned },
    versions: { bun: Bun.version, ...peerVersions },
    seconds,
    rounds,
    minutes: Math.round((performance.now() - startedMs) / 6000) / 10,
    skipped,
    samples,
  }
  const isWhole = !options.quick && options.only === undefined && options.targets === undefined
  const path = join(root, isWhole ? 'docs/performance/results.json' : 'bench/quick-results.json')
  mkdirSync(join(root, 'docs/performance'), { recursive: true })
  writeFileSync(path, `${JSON.stringify(results, null, 1)}\n`)
  writeReport(results, isWhole)
}

function writeCertificate(folder: string): Pick<Place, 'certPath' | 'keyPath' | 'bundlePath'> {
  const { certPem, keyPem } = createTestAuthority('bench').issue(['127.0.0.1', 'localhost'])
  const [certPath, keyPath] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const bundlePath = join(folder, 'bundle.pem')
  writeFileSync(certPath, certPem)
  writeFileSync(keyPath, keyPem)
  writeFileSync(bundlePath, `${certPem}\n${keyPem}`)
  return { certPath, keyPath, bundlePath }
}
