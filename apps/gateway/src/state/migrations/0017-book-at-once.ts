/**
 * Books reports about requests that are not stored yet with one statement, which reads them from
 * arrays and looks at limits only where there are any.
 */
import type { Migration } from '../database.ts'
import { addSums, planned } from './0015-booking.ts'
import { isNews } from './0016-padded-answers.ts'

/** The columns of a report in the order of the arguments. */
const columns = [
  ['admission_id', 'uuid'],
  ['request_id', 'uuid'],
  ['started_at', 'timestamptz'],
  ['key_id', 'text'],
  ['worker_id', 'text'],
  ['model', 'text'],
  ['path', 'text'],
  ['outcome', 'text'],
  ['status', 'smallint'],
  ['prompt_tokens', 'integer'],
  ['cached_tokens', 'integer'],
  ['completion_tokens', 'integer'],
  ['duration_ms', 'integer'],
] as const

const list = (format: (name: string, type: string) => string) =>
  columns.map(([name, type]) => format(name, type)).join(', ')

const incoming = `unnest(${list((name) => `p_${name}`)}) as r(${list((name) => name)})`

/** The same as in `insert_usage`, for other arguments; without `charges` for keys without such limits. */
const insert = (charges: boolean) => `
  with known as (
    select r.*, k.account_id from ${incoming} join api_keys k on k.id = r.key_id),
  prices as (
    select model, valid_from,
      lead(valid_from, 1, 'infinity') over (partition by model order by valid_from) as valid_until,
      input_micros, cached_micros, output_micros
    from model_prices where model in (select model from known)),
  changed as (
    insert into usage (${list((name) => name)}, account_id, cost_micros)
    select ${list((name) => `k.${name}`)}, k.account_id,
      coalesce(round(((k.prompt_tokens - k.cached_tokens)::numeric * coalesce(p.input_micros, 0)
        + k.cached_tokens::numeric * coalesce(p.cached_micros, 0)
        + k.completion_tokens::numeric * coalesce(p.output_micros, 0)) / 1000000)::bigint, 0)
    from known k left join prices p
      on p.model = k.model and p.valid_from <= k.started_at and k.started_at < p.valid_until
    order by k.admission_id
    on conflict (admission_id) do nothing returning *), ${addSums(1)}${charges ? charged : ''}
  select (select count(*) from changed), (select count(*) from known)${charges ? ', (select count(*) from charged)' : ', 0'}
  into stored, known, charges;`

const charged = `,
  -- Tokens count against a limit per minute from when they are known; old news does not.
  charged as (
    select adjust_allowance(subject, 'tokens', null, tokens) from (
      select subject, sum(tokens)::bigint as tokens from (
        select unnest(array[
            case when k.tokens_per_minute is not null then c.key_id end,
            case when a.tokens_per_minute is not null then c.account_id end,
            case when a.member_tokens_per_minute is not null then k.created_by end]) as subject,
          c.tokens
        from (
          select key_id, account_id, sum(prompt_tokens::bigint + completion_tokens) as tokens from changed
          where ${isNews}
          group by 1, 2) as c
        join api_keys k on k.id = c.key_id join accounts a on a.id = c.account_id
      ) as each_subject
      where subject is not null group by subject order by subject) as sums)`

export const bookAtOnce: Migration = {
  name: 'book-at-once',
  sql: `
-- Stores the reports of known keys that are not stored yet, with their sums. The rows have one
-- admission each, in ascending order, so that two gateways lock them in the same order. If rows of
-- known keys were stored before, no reservation ends: the caller judges which report counts.
create function book_usage(${list((name, type) => `p_${name} ${type}[]`)},
  out stored bigint, out known bigint) ${planned} as $$
#variable_conflict use_column
declare
  charges bigint;
  per_minute boolean;
  per_month boolean;
begin
  select
    bool_or(coalesce(k.tokens_per_minute, a.tokens_per_minute, a.member_tokens_per_minute) is not null),
    bool_or(coalesce(k.tokens_per_month, a.tokens_per_month, a.member_tokens_per_month) is not null)
  into per_minute, per_month
  from api_keys k join accounts a on a.id = k.account_id where k.id = any(p_key_id);
  if per_minute then ${insert(true)}
  else ${insert(false)}
  end if;
  -- The tokens reserved for these requests are used now. If a second worker took over, the first
  -- one's report does not end the reservation.
  if per_month and stored = known then
    delete from token_reservations t using unnest(p_admission_id, p_worker_id) as r(admission_id, worker_id)
    where t.admission_id = r.admission_id and (t.worker_id is null or t.worker_id = r.worker_id);
  end if;
end $$;
`,
}
