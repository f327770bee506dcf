/**
 * Durations are those of answers, without the padding after them: reports arrive later than answers
 * end.
 */
import type { Migration } from '../database.ts'
import { insertUsage } from './0015-booking.ts'

/** A report follows the padding, which ends within four times the duration or nine minutes. */
export const isNews = `now() - started_at < interval '10 minutes' + 4 * duration_ms * interval '1 millisecond'`

export const paddedAnswers: Migration = {
  name: 'padded-answers',
  sql: insertUsage(isNews).replace('create function', 'create or replace function'),
}
