/** Accounts own API keys; both may carry limits, and NULL means no limit. */
import type { Migration } from '../database.ts'

export const accountsAndKeys: Migration = {
  name: 'accounts and keys',
  sql: `
create table accounts (
  id text primary key,
  name text not null,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  requests_per_minute bigint check (requests_per_minute >= 0),
  tokens_per_minute bigint check (tokens_per_minute >= 0),
  tokens_per_month bigint check (tokens_per_month >= 0),
  concurrent_streams bigint check (concurrent_streams >= 0)
);

-- Where keys go that name no account: enough for a machine with one user.
insert into accounts (id, name) values ('acct_default', 'Default');

-- Only hashes of the secrets are here. After a rotation the previous secret works until
-- previous_until, so that clients can be changed over without a gap.
create table api_keys (
  id text primary key,
  account_id text not null references accounts (id),
  name text not null,
  prefix text not null,
  hash bytea not null unique,
  previous_hash bytea unique,
  previous_until timestamptz,
  created_at timestamptz not null default now(),
  rotated_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  requests_per_minute bigint check (requests_per_minute >= 0),
  tokens_per_minute bigint check (tokens_per_minute >= 0),
  tokens_per_month bigint check (tokens_per_month >= 0),
  concurrent_streams bigint check (concurrent_streams >= 0)
);
create index api_keys_account on api_keys (account_id, created_at);
`,
}
