/** People: members of accounts, their sessions, invitations and failed attempts to sign in. */
import type { Migration } from '../database.ts'

export const members: Migration = {
  name: 'members',
  sql: `
-- Admins of an account that operates may administer the whole deployment.
alter table accounts add column operates boolean not null default false;
update accounts set operates = true where id = 'acct_default';

create table members (
  id text primary key,
  account_id text not null references accounts (id),
  email text not null,
  name text not null,
  role text not null check (role in ('admin', 'member')),
  password_hash text,
  oidc_subject text unique,
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);
create unique index members_email on members (lower(email));
create index members_account on members (account_id);

alter table api_keys add column created_by text references members (id);

-- One-time links: for the first account, for new members, and to set a password anew.
create table invitations (
  token_hash bytea primary key,
  account_id text not null references accounts (id),
  role text not null check (role in ('admin', 'member')),
  member_id text references members (id) on delete cascade,
  email text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz
);

create table sessions (
  token_hash bytea primary key,
  member_id text not null references members (id) on delete cascade,
  created_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);
create index sessions_member on sessions (member_id);

-- Counted for addresses of people and of machines alike.
create table sign_in_failures (
  subject text primary key,
  failures integer not null,
  last_at timestamptz not null,
  locked_until timestamptz
);

create table oidc_requests (
  state_hash bytea primary key,
  nonce text not null,
  code_verifier text not null,
  expires_at timestamptz not null
);
`,
}
