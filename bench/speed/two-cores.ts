/**
 * What two worker processes of the proxy carry beyond one.
 *
 * On a machine with two cores the load also needs CPU time, so the wall clock is inconclusive. What
 * each process uses is not: as many requests as fit into a second of the busiest one are what the
 * proxy can serve if every process has its own core. All processes take turns on the first
 * core and always have work: a process that waits for the load wakes up for every single
 * request, and would look more expensive for that reason alone.
 */
import { cpuSeconds, cpuSecondsEach } from './child.ts'
import { load, specFor } from './measure.ts'
import { type SealedBackend, startProxy } from './ours.ts'
import type { Place } from './plain-proxies.ts'
import type { CrewCost, TwoCores } from './results.ts'
import type { Target } from './target.ts'
import { workloads } from './workloads.ts'

/** The kernel distributes connections by hash: with many, no process gets far more than its share. */
const connections = 512
/** Per process: one that is still being compiled looks more expensive than it is. */
const warmRequests = 40_000
const warmSeconds = 12
const rounds = 3

export async function measureTwoCores(
  place: Place,
  backend: SealedBackend,
  seconds: number,
): Promise<TwoCores | undefined> {
  const workload = workloads.find(({ id }) => id === 'chat-32')
  if (workload === undefined) return undefined
  const start = (workers: string) =>
    startProxy(place, 'proxy, shape off', backend, 'default', ['--workers', workers])
  const targets = await Promise.all([start('1'), start('2')])
  const sums = targets.map(() => ({ requests: 0, all: 0, busiest: 0 }))
  let around = 0
  for (let round = -1; round < rounds; round++) {
    for (const [at, target] of targets.entries()) {
      const spec = { ...specFor(target, workload, seconds), connections }
      const [before, backendBefore] = [cpuOf(target), cpuSeconds(backend.pid)]
      const warm = { seconds: warmSeconds, requests: warmRequests * (at + 1) }
      const limit = round < 0 ? warm : {}
      const result = await load({ ...spec, ...limit })
      const sum = sums[at]
      if (round < 0 || sum === undefined) continue
      const used = usedSince(before, cpuOf(target))
      sum.requests += result.requests
      sum.all += used.all
      sum.busiest += used.busiest
      around += result.cpuSeconds + cpuSeconds(backend.pid) - backendBefore
    }
  }
  const [one, two] = sums
  if (!one?.busiest || !two?.busiest) return undefined
  const aroundUs = (around * 1e6) / (one.requests + two.requests)
  return { one: costOf(one), two: costOf(two), aroundUs }
}

function costOf(sum: { requests: number; all: number; busiest: number }): CrewCost {
  return {
    perBusiest: sum.requests / sum.busiest,
    cpuUs: (sum.all * 1e6) / sum.requests,
    busiestPart: sum.busiest / sum.all,
  }
}

const cpuOf = ({ parts }: Target) => cpuSecondsEach(parts[0]?.pid ?? 0)

function usedSince(
  before: Map<number, number>,
  after: Map<number, number>,
): { all: number; busiest: number } {
  const used = [...after].map(([pid, seconds]) => seconds - (before.get(pid) ?? 0))
  return { all: used.reduce((sum, one) => sum + one, 0), busiest: Math.max(0, ...used) }
}
