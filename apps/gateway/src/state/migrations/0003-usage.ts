/** One row per metered request, and sums by the hour that are kept with every row. */
import type { Migration } from '../database.ts'

export const usage: Migration = {
  name: 'usage',
  sql: `
create table usage (
  request_id uuid primary key,
  started_at timestamptz not null,
  account_id text not null,
  key_id text not null,
  worker_id text not null,
  model text not null,
  path text not null,
  -- complete, aborted, failed: the worker's word. lost: no worker ever reported the request.
  outcome text not null check (outcome in ('complete', 'aborted', 'failed', 'lost')),
  status smallint not null,
  prompt_tokens integer not null check (prompt_tokens >= 0),
  cached_tokens integer not null check (cached_tokens between 0 and prompt_tokens),
  completion_tokens integer not null check (completion_tokens >= 0),
  duration_ms integer not null check (duration_ms >= 0)
);
create index usage_account_time on usage (account_id, started_at, request_id);
create index usage_key_time on usage (key_id, started_at, request_id);

-- Equal to the sums over usage at every commit. The columns up_to_* count requests by duration.
create table usage_hourly (
  account_id text not null,
  hour timestamptz not null,
  key_id text not null,
  model text not null,
  path text not null,
  outcome text not null,
  requests bigint not null,
  prompt_tokens bigint not null,
  cached_tokens bigint not null,
  completion_tokens bigint not null,
  duration_ms bigint not null,
  up_to_300_ms bigint not null,
  up_to_1_s bigint not null,
  up_to_3_s bigint not null,
  up_to_10_s bigint not null,
  up_to_30_s bigint not null,
  up_to_100_s bigint not null,
  primary key (account_id, hour, key_id, model, path, outcome)
);
create index usage_hourly_hour on usage_hourly (hour);

-- Tokens of a key or an account in a month (UTC): what monthly quotas are checked against.
create table usage_monthly (
  subject text not null,
  month date not null,
  tokens bigint not null,
  primary key (subject, month)
);

-- Which report of a request counts when there are two: after a failover both workers may speak.
create function outcome_rank(outcome text) returns integer language sql immutable as
  $$ select case outcome when 'complete' then 4 when 'aborted' then 3 when 'failed' then 2 else 1 end $$;
`,
}
