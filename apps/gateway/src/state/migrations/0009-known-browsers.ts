/** Browsers in which a member signed in before: attackers who guess cannot lock them out. */
import type { Migration } from '../database.ts'

export const knownBrowsers: Migration = {
  name: 'known browsers',
  sql: `
create table known_browsers (
  token_hash bytea primary key,
  member_id text not null references members (id) on delete cascade,
  seen_at timestamptz not null default now()
);
create index known_browsers_member on known_browsers (member_id, seen_at);

-- How many sign-ins through the identity provider one network has begun.
alter table oidc_requests add column network text not null default '';
alter table oidc_requests add column created_at timestamptz not null default now();
create index oidc_requests_network on oidc_requests (network, created_at);
`,
}
