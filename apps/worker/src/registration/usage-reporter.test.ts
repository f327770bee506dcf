import { expect, test } from 'bun:test'
import type { SignedUsage } from '@privatemode/protocol/fleet'
import { createLog } from '@privatemode/service'
import { UsageReporter } from './usage-reporter.ts'

const log = createLog({ format: 'json', level: 100, write: () => {} })
const usage = (id: number): SignedUsage => ({ record: `${id}`, rest_digest: '', signature: '' })

test('a gateway too slow for large batches gets smaller ones, and every record exactly once', async () => {
  const sizes: number[] = []
  const taken: string[] = []
  const post = async (records: readonly SignedUsage[]) => {
    sizes.push(records.length)
    if (records.length > 150) throw new Error('did not answer in time')
    taken.push(...records.map(({ record }) => record))
  }
  const reporter = new UsageReporter(post, log)
  for (let id = 0; id < 600; id++) reporter.add(usage(id))
  await reporter.flush(20_000)
  expect(sizes.slice(0, 3)).toEqual([500, 250, 125])
  expect(taken.toSorted((a, b) => Number(a) - Number(b))).toEqual(
    Array.from({ length: 600 }, (_, id) => `${id}`),
  )
})

test('under load, records are gathered for longer', async () => {
  const postedMs: number[] = []
  const { promise: third, resolve } = Promise.withResolvers<void>()
  const post = async () => {
    postedMs.push(performance.now())
    if (postedMs.length === 3) resolve()
    else queueMicrotask(() => reporter.add(usage(100)))
  }
  const reporter = new UsageReporter(post, log)
  for (let id = 0; id < 30; id++) reporter.add(usage(id))
  await third
  const [first = 0, second = 0, last = 0] = postedMs
  expect(second - first).toBeGreaterThan(390)
  expect(last - second).toBeLessThan(second - first)
})
