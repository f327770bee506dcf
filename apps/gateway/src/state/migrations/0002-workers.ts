/** Workers under lease, and every receipt key they ever signed usage with. */
import type { Migration } from '../database.ts'

export const workers: Migration = {
  name: 'workers',
  sql: `
create table workers (
  id text primary key,
  url text not null,
  models jsonb not null,
  seal_key_id text not null,
  receipt_key bytea not null,
  capacity integer not null check (capacity >= 0),
  active integer not null check (active >= 0),
  draining boolean not null,
  drain_requested boolean not null default false,
  registered_at timestamptz not null default now(),
  lease_until timestamptz not null
);

-- Outlives the lease: usage that a worker signed may arrive after it left or changed its key.
create table worker_receipt_keys (
  worker_id text not null,
  receipt_key bytea not null,
  first_seen_at timestamptz not null default now(),
  primary key (worker_id, receipt_key)
);
`,
}
