/** Limits and maximum lifetime of the keys of an account's members, whatever members request. */
import type { Migration } from '../database.ts'

export const memberLimits: Migration = {
  name: 'member limits',
  sql: `
-- For all keys of one member together. Admins are not bound: they set these.
alter table accounts
  add column member_requests_per_minute bigint check (member_requests_per_minute >= 0),
  add column member_tokens_per_minute bigint check (member_tokens_per_minute >= 0),
  add column member_tokens_per_month bigint check (member_tokens_per_month >= 0),
  add column member_concurrent_streams bigint check (member_concurrent_streams >= 0),
  add column member_key_days integer check (member_key_days between 1 and 3650);

-- The expiry that an admin set last: a member may end a key earlier, never later.
alter table api_keys add column latest_expiry timestamptz;
`,
}
