import { expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import { lateCommitMs, type Queries } from '../state/database.ts'
import { TokenReservations } from './token-reservations.ts'

test('a failed reservation is deleted at once, and again when it can no longer be stored', async () => {
  let nowMs = 0
  const deleted: unknown[] = []
  const query = async (sql: string, values: readonly unknown[]) => {
    if (sql.includes('reserve_tokens')) throw new Error('connection reset')
    deleted.push(...JSON.parse(String(values[0])))
    return []
  }
  const reservations = new TokenReservations({
    database: { query } as unknown as Queries,
    clock: () => nowMs,
    ...{ gatewayId: 'gw_one', answerTokens: 100, graceMs: 0 },
  })
  const reserved = reservations.reserve('a1', [{ subject: 'key_one', limit: 100 }], 10)
  expect(await rejection(reserved)).toBeInstanceOf(Error)
  await reservations.tidy()
  await reservations.tidy()
  expect(deleted).toEqual(['a1'])
  nowMs = lateCommitMs
  await reservations.tidy()
  expect(deleted).toEqual(['a1', 'a1'])
})
