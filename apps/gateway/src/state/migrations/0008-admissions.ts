/** Usage goes by the gateway's own number of a request; workers have keys that relays are signed with. */
import type { Migration } from '../database.ts'

export const admissions: Migration = {
  name: 'admissions',
  sql: `
-- Renamed rather than rewritten: a year of rows changes in a moment. Rows from before were billed by
-- the client's number, so there it stands for both, and request_id is null.
alter table usage rename column request_id to admission_id;
alter table usage add column request_id uuid;

-- What all gateways on this database share and no worker or client knows.
create table gateway_secrets (
  name text primary key,
  secret bytea not null
);

-- Null for workers that are older than this: they do not ask for a MAC.
alter table workers add column relay_key bytea check (length(relay_key) = 32);
`,
}
