/** An index for requests across all accounts: the operator's list and export. */
import type { Migration } from '../database.ts'

export const usageTime: Migration = {
  name: 'usage-time',
  sql: 'create index usage_time on usage (started_at, request_id);',
}
