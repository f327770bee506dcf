/** Invitations know who made them and can be revoked; what admins do is written down. */
import type { Migration } from '../database.ts'

export const auditLog: Migration = {
  name: 'audit log',
  sql: `
alter table invitations add column id text;
update invitations set id = 'inv_' || left(encode(token_hash, 'hex'), 20);
alter table invitations alter column id set not null;
create unique index invitations_id on invitations (id);
create index invitations_account on invitations (account_id, created_at);
-- Null is the operator token. It is not known who made the ones that are open now, so they end.
alter table invitations add column created_by text references members (id) on delete cascade;
alter table invitations add column revoked_at timestamptz;
update invitations set revoked_at = now() where used_at is null;

-- No references: an entry outlives what it is about. Names are those of the time.
create table audit_events (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  -- How often the same thing happened within an hour, for what strangers can do.
  times integer not null default 1,
  last_at timestamptz not null default now(),
  action text not null,
  -- Null concerns the deployment as a whole and is for its operators.
  account_id text,
  -- Null is a stranger; 'operator' is the operator token.
  actor_id text,
  actor_name text,
  actor_account_id text,
  subject_id text,
  subject_name text,
  details jsonb not null default '{}',
  address text not null
);
create index audit_events_account on audit_events (account_id, id);
create index audit_events_actor on audit_events (actor_id, at);
create index audit_events_time on audit_events (at);
create index audit_events_strangers on audit_events (action, subject_name, address, id) where actor_id is null;
`,
}
