/** Assigns e-mail domains to accounts: an address in one account says nothing about another. */
import type { Migration } from '../database.ts'

export const emailDomains: Migration = {
  name: 'e-mail domains',
  sql: `
-- Operators say which account a domain belongs to; addresses in it are for that account only.
create table account_domains (
  domain text primary key,
  account_id text not null references accounts (id)
);
create index account_domains_account on account_domains (account_id);

-- An address is one member of an account; no account can keep it from another.
drop index members_email;
create unique index members_account_email on members (account_id, lower(email));
create index members_email on members (lower(email));
`,
}
