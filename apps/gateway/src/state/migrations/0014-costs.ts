/** Prices of models with their history, what each request cost, and monthly budgets. */
import type { Migration } from '../database.ts'

export const costs: Migration = {
  name: 'costs',
  sql: `
-- Amounts are millionths of this currency, in whole numbers. One row.
create table billing (
  id boolean primary key default true check (id),
  currency text not null check (currency ~ '^[A-Z]{3}$')
);

-- For a million tokens, for requests that started from valid_from on. Null: no longer priced.
create table model_prices (
  model text not null,
  valid_from timestamptz not null,
  input_micros bigint check (input_micros >= 0),
  cached_micros bigint check (cached_micros >= 0),
  output_micros bigint check (output_micros >= 0),
  primary key (model, valid_from)
);

-- What a request costs is settled when it is stored: a later price changes no earlier bill.
alter table usage add column cost_micros bigint not null default 0;
alter table usage_hourly add column cost_micros bigint not null default 0;
alter table usage_monthly add column cost_micros bigint not null default 0;

create function request_cost(p_model text, p_at timestamptz, p_input bigint, p_cached bigint, p_output bigint)
returns bigint language sql stable as $$
  select coalesce((
    select round(((p_input - p_cached)::numeric * coalesce(input_micros, 0)
        + p_cached::numeric * coalesce(cached_micros, 0)
        + p_output::numeric * coalesce(output_micros, 0)) / 1000000)::bigint
    from model_prices where model = p_model and valid_from <= p_at
    order by valid_from desc limit 1), 0)
$$;

-- What an account or a key should cost in a month (UTC) at most. It warns; it refuses nothing.
create table budgets (
  subject text primary key,
  account_id text not null references accounts (id),
  budget_micros bigint not null check (budget_micros > 0)
);
create index budgets_account on budgets (account_id);
`,
}
