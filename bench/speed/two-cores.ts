/**
 * What two worker processes of the proxy carry beyond one.
 *
 * On a machine of two cores the load has to run somewhere, too, so the clock cannot tell. What
 * each process used can: as many requests as fit into a second of the busiest one are what the
 * proxy carries where every process has a core of its own.
 */
import { cpuSecondsEach } from './child.ts'
import { load, specFor } from './measure.ts'
import { type Backend, startProxy } from './ours.ts'
import type { Place } from './plain-proxies.ts'
import type { TwoCores } from './results.ts'
import type { Target } from './target.ts'
import { workloads } from './workloads.ts'

const connections = 256
const warmRequests = 16_000
const rounds = 3

export async function measureTwoCores(
  place: Place,
  backend: Backend,
  seconds: number,
): Promise<TwoCores | undefined> {
  const workload = workloads.find(({ id }) => id === 'chat-32')
  if (workload === undefined) return undefined
  const start = (workers: string) =>
    startProxy(place, 'proxy, shape off', backend, 'default', ['--workers', workers])
  const targets = await Promise.all([start('1'), start('2')])
  const sums = targets.map(() => ({ requests: 0, busiest: 0 }))
  for (let round = -1; round < rounds; round++) {
    for (const [at, target] of targets.entries()) {
      const spec = { ...specFor(target, workload, seconds), connections }
      const before = cpuOf(target)
      const limit = round < 0 ? { seconds: seconds * 3, requests: warmRequests } : {}
      const { requests } = await load({ ...spec, ...limit })
      const sum = sums[at]
      if (round < 0 || sum === undefined) continue
      sum.requests += requests
      sum.busiest += busiestSince(before, cpuOf(target))
    }
  }
  const [one, two] = sums
  if (!one?.busiest || !two?.busiest) return undefined
  return {
    one: one.requests / one.busiest,
    two: two.requests / two.busiest,
    requests: one.requests + two.requests,
  }
}

const cpuOf = ({ parts }: Target) => cpuSecondsEach(parts[0]?.pid ?? 0)

function busiestSince(before: Map<number, number>, after: Map<number, number>): number {
  let most = 0
  for (const [pid, seconds] of after) most = Math.max(most, seconds - (before.get(pid) ?? 0))
  return most
}
