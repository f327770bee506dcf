import { expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import { lateCommitMs, type Queries } from '../state/database.ts'
import { StreamPermits } from './stream-permits.ts'

test('a refusal is repeated for a while without the database, which is then queried again', async () => {
  let nowMs = 0
  let asked = 0
  const query = async () => {
    asked++
    return [{ granted: 0 }]
  }
  const permits = new StreamPermits({
    database: { query } as unknown as Queries,
    clock: () => nowMs,
    ...{ subject: 'key_one', gatewayId: 'gw_one' },
  })
  expect(await permits.take(1)).toBe(false)
  nowMs = 99
  expect([await permits.take(1), asked]).toEqual([false, 1])
  nowMs = 100
  expect([await permits.take(1), asked]).toEqual([false, 2])
})

test('after a failed statement the count is written at once, and again when it can no longer take effect', async () => {
  let nowMs = 0
  const written: unknown[] = []
  const query = async (sql: string, values: readonly unknown[]) => {
    if (sql.startsWith('select')) throw new Error('connection reset')
    written.push(values[2])
    return []
  }
  const permits = new StreamPermits({
    database: { query } as unknown as Queries,
    clock: () => nowMs,
    ...{ subject: 'key_one', gatewayId: 'gw_one' },
  })
  expect(await rejection(permits.take(1) as Promise<boolean>)).toBeInstanceOf(Error)
  await permits.tidy()
  await permits.tidy()
  expect([written, permits.isForgotten]).toEqual([[0], false])
  nowMs = lateCommitMs
  await permits.tidy()
  expect([written, permits.isForgotten]).toEqual([[0, 0], true])
})
