/** Fills a database with usage as a busy year would, written by the database itself. */
import type { Queries } from '../state/database.ts'

export type SyntheticUsage = {
  /** Requests that the hourly sums stand for. */
  readonly requests: number
  /** Single requests, the latest of them: at most `requests`. */
  readonly rows: number
  readonly days: number
}

export const syntheticAccounts = 25
const keysOfAccount = 4
const models = 3
const batchRows = 1_000_000

export const syntheticAccount = 'acct_7'
export const syntheticKey = 'key_7_2'

/** A time in the middle of the single requests. */
export function middleOf({ requests, rows, days }: SyntheticUsage, now: Date): Date {
  return new Date(now.getTime() - (days * 86_400_000 * rows) / requests / 2)
}

/** Time goes up to now. The sums of hours with single requests are not made from them. */
export async function fillUsage(database: Queries, wanted: SyntheticUsage): Promise<void> {
  const { requests, rows, days } = wanted
  const hours = days * 24
  const groups = hours * syntheticAccounts * keysOfAccount * models
  const each = Math.max(1, Math.round(requests / groups))
  await database.script(`
insert into accounts (id, name)
  select 'acct_' || n, 'account ' || n from generate_series(1, ${syntheticAccounts}) n;
insert into api_keys (id, account_id, name, prefix, hash)
  select 'key_' || n || '_' || k, 'acct_' || n, 'key ' || k, 'pm_' || n || '_' || k,
    sha256(convert_to(n || '_' || k, 'UTF8'))
  from generate_series(1, ${syntheticAccounts}) n, generate_series(1, ${keysOfAccount}) k;
insert into usage_hourly
  select 'acct_' || n, date_trunc('hour', now(), 'UTC') - h * interval '1 hour',
    'key_' || n || '_' || k, 'model-' || m, '/v1/chat/completions', 'complete',
    ${each}, ${each} * 800, ${each} * 300, ${each} * 250, ${each} * 2500,
    0, ${each} / 4, ${each} / 2, ${each}, ${each}, ${each}
  from generate_series(0, ${hours - 1}) h, generate_series(1, ${syntheticAccounts}) n,
    generate_series(1, ${keysOfAccount}) k, generate_series(1, ${models}) m;
insert into usage_monthly (subject, month, tokens)
  select subject, date_trunc('month', now() at time zone 'UTC')::date, ${each} from (
    select 'acct_' || n as subject from generate_series(1, ${syntheticAccounts}) n) s;
-- Indexes made at the end are made in a tenth of the time.
create temporary table index_definitions as
  select indexname, indexdef from pg_indexes
  where tablename = 'usage' and indexname <> 'usage_pkey';
do $$ declare name text; begin
  for name in select indexname from index_definitions loop execute 'drop index ' || name; end loop;
end $$;
alter table usage drop constraint usage_pkey;
alter table usage set unlogged;
-- A batch at a time: the numbers of all rows at once would first be written to a file of their own.
do $$ begin
  for first_i in reverse ${rows} .. 1 by ${batchRows} loop
    insert into usage
      select md5(i::text)::uuid, now() - interval '1 day' * (i::float8 * ${days} / ${requests}),
        'acct_' || 1 + i % ${syntheticAccounts},
        'key_' || 1 + i % ${syntheticAccounts} || '_' || 1 + i / ${syntheticAccounts} % ${keysOfAccount},
        'w_' || i % 16, 'model-' || 1 + i % ${models}, '/v1/chat/completions', 'complete', 200,
        800, 300, 250, 2500
      from generate_series(first_i, greatest(1, first_i - ${batchRows - 1}), -1) i;
  end loop;
end $$;
alter table usage add primary key (admission_id);
do $$ declare definition text; begin
  for definition in select indexdef from index_definitions loop execute definition; end loop;
end $$;
drop table index_definitions;`)
  await database.script('vacuum analyze')
}
