import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { missingPostgres } from '../../apps/gateway/src/testing/postgres-server.ts'
import { canMeasure, stopAll } from './child.ts'
import { type Goal, judgeGoals } from './goals.ts'
import { countedUs, measure, type PartCost, type Sample } from './measure.ts'
import { startMeteredGateway, startPostgresGateway } from './our-parts.ts'
import { askGateway } from './ours.ts'
import { Figures, type Results } from './results.ts'
import type { Skipped, Target } from './target.ts'
import { workloads } from './workloads.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-bench-test-'))
const place = { folder, modelPort: 0, certPath: '', keyPath: '', bundlePath: '' }
const noProc = canMeasure ? undefined : 'there is no /proc'
const requests = 40

afterAll(async () => {
  await stopAll()
  rmSync(folder, { recursive: true, force: true })
})

unlessMissing(noProc).test(
  'every chat through the metered gateway is booked before its cost is read',
  async () => expectBooked(await startMeteredGateway(place)),
  60_000,
)

unlessMissing(noProc ?? missingPostgres()).test(
  'the same with PostgreSQL, whose CPU time does not count',
  async () => {
    const { parts, perCpuSecond } = await expectBooked(await startPostgresGateway(place))
    expect(parts.map(({ name, apart }) => [name, apart === true])).toEqual([
      ['gateway', false],
      ['PostgreSQL', true],
    ])
    expect(perCpuSecond).toBeCloseTo(1e6 / (parts[0]?.cpuUs ?? 0), 5)
  },
  60_000,
)

test('goals of the metered gateway are judged by what counts, and are open if it was not measured', () => {
  const goalOf = (samples: readonly Sample[]): Goal | undefined =>
    judgeGoals(new Figures({ samples } as Results), {}).find(
      ({ measure }) => measure === 'gateway, small chat, 32 at once, metered in PostgreSQL',
    )
  expect(goalOf([])).toMatchObject({ goal: '≥ 15000', figure: undefined, isReached: undefined })
  const cost = { kernelUs: 0, besideUs: 0, sleeps: 0, peakMiB: 1 }
  const parts: PartCost[] = [
    { ...cost, name: 'gateway', cpuUs: 60 },
    { ...cost, name: 'PostgreSQL', cpuUs: 30, apart: true },
  ]
  const sample = {
    ...{ workload: 'chat-32', target: 'gateway, PostgreSQL', requests: 1, parts },
    perCpuSecond: 1e6 / countedUs(parts),
  } as unknown as Sample
  expect(goalOf([sample])).toMatchObject({ isReached: true, isAlwaysReached: true })
})

async function expectBooked(target: Target | Skipped): Promise<Sample> {
  if (!('port' in target)) throw new Error(target.why)
  const workload = workloads.find(({ id }) => id === 'chat-32')
  if (workload === undefined) throw new Error('there is no such workload')
  const sample = await measure(target, workload, 30, 0, requests)
  expect(sample).toMatchObject({ requests, failures: 0 })
  const url = `http://127.0.0.1:${target.port}`
  const booked = await askGateway(
    url,
    'GET',
    'admin/usage/requests?from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&limit=100',
  )
  expect(booked.requests).toEqual(
    Array.from({ length: requests }, () => expect.objectContaining({ outcome: 'complete' })),
  )
  return sample
}
