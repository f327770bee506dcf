import { expect, test } from 'bun:test'
import type { Queries } from '../state/database.ts'
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
