/**
 * Books usage in functions, whose statements are planned once per connection: planning them took
 * longer than running them.
 */
import type { Migration } from '../database.ts'

/**
 * A kept plan must suit tables of any size: found by index, never scanned. The embedded database
 * collects no statistics by itself, so a plan made for an empty table would stay.
 */
export const planned = `language plpgsql
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off`

const incoming = `jsonb_to_recordset(p_batch) as r(
    admission_id uuid, request_id uuid, started_at timestamptz, key_id text, worker_id text, model text, path text,
    outcome text, status smallint, prompt_tokens integer, cached_tokens integer,
    completion_tokens integer, duration_ms integer)`

/** Whether the row `u` counts for less than the report `r`: compared by tokens, then by outcome. */
const isLess = `
    (u.prompt_tokens::bigint + u.completion_tokens, outcome_rank(u.outcome)) <
    (r.prompt_tokens::bigint + r.completion_tokens, outcome_rank(r.outcome))`

/** Sums of rows in the CTE `changed`, added to the hourly and monthly tables with a sign. */
export const addSums = (sign: 1 | -1) => `
hourly as (
  insert into usage_hourly as h
  select account_id, date_trunc('hour', started_at, 'UTC'), key_id, model, path, outcome,
    ${sign} * count(*), ${sign} * sum(prompt_tokens), ${sign} * sum(cached_tokens),
    ${sign} * sum(completion_tokens), ${sign} * sum(duration_ms::bigint),
    ${[300, 1000, 3000, 10_000, 30_000, 100_000]
      .map((ms) => `${sign} * count(*) filter (where duration_ms <= ${ms})`)
      .join(', ')}, ${sign} * sum(cost_micros)
  from changed group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
  on conflict (account_id, hour, key_id, model, path, outcome) do update set
    requests = h.requests + excluded.requests,
    prompt_tokens = h.prompt_tokens + excluded.prompt_tokens,
    cached_tokens = h.cached_tokens + excluded.cached_tokens,
    completion_tokens = h.completion_tokens + excluded.completion_tokens,
    duration_ms = h.duration_ms + excluded.duration_ms,
    up_to_300_ms = h.up_to_300_ms + excluded.up_to_300_ms,
    up_to_1_s = h.up_to_1_s + excluded.up_to_1_s,
    up_to_3_s = h.up_to_3_s + excluded.up_to_3_s,
    up_to_10_s = h.up_to_10_s + excluded.up_to_10_s,
    up_to_30_s = h.up_to_30_s + excluded.up_to_30_s,
    up_to_100_s = h.up_to_100_s + excluded.up_to_100_s,
    cost_micros = h.cost_micros + excluded.cost_micros),
monthly as (
  insert into usage_monthly as m
  select subject, month, ${sign} * sum(tokens), max(largest), ${sign} * sum(cost_micros) from (
    select unnest(array[account_id, key_id,
        (select created_by from api_keys where id = key_id)]) as subject,
      month, tokens, largest, cost_micros
    from (
      select account_id, key_id, date_trunc('month', started_at at time zone 'UTC')::date as month,
        sum(prompt_tokens::bigint + completion_tokens) as tokens,
        max(prompt_tokens::bigint + completion_tokens) as largest, sum(cost_micros) as cost_micros
      from changed group by 1, 2, 3) as each_key) as each_subject
  where subject is not null group by 1, 2 order by 1, 2
  on conflict (subject, month) do update set
    tokens = m.tokens + excluded.tokens, largest = greatest(m.largest, excluded.largest),
    cost_micros = m.cost_micros + excluded.cost_micros)`

/** The function that stores reports; those that match the condition count against limits per minute. */
export const insertUsage = (isNews: string) => `
-- Stores the reports of known keys that are not stored yet, with their sums. The argument's rows have
-- one admission each, in ascending order, so that two gateways lock them in the same order.
create function insert_usage(p_batch jsonb, out stored bigint, out known bigint) ${planned} as $$
#variable_conflict use_column
declare
  charges bigint;
begin
  with known as (
    select r.*, k.account_id from ${incoming} join api_keys k on k.id = r.key_id),
  prices as (
    select model, valid_from,
      lead(valid_from, 1, 'infinity') over (partition by model order by valid_from) as valid_until,
      input_micros, cached_micros, output_micros
    from model_prices where model in (select model from known)),
  changed as (
    insert into usage (admission_id, request_id, started_at, account_id, key_id, worker_id, model, path,
      outcome, status, prompt_tokens, cached_tokens, completion_tokens, duration_ms, cost_micros)
    select k.admission_id, k.request_id, k.started_at, k.account_id, k.key_id, k.worker_id, k.model, k.path,
      k.outcome, k.status, k.prompt_tokens, k.cached_tokens, k.completion_tokens, k.duration_ms,
      -- The same as request_cost, which gateways of the version before still call, without a query for each row.
      coalesce(round(((k.prompt_tokens - k.cached_tokens)::numeric * coalesce(p.input_micros, 0)
        + k.cached_tokens::numeric * coalesce(p.cached_micros, 0)
        + k.completion_tokens::numeric * coalesce(p.output_micros, 0)) / 1000000)::bigint, 0)
    from known k left join prices p
      on p.model = k.model and p.valid_from <= k.started_at and k.started_at < p.valid_until
    order by k.admission_id
    on conflict (admission_id) do nothing returning *), ${addSums(1)},
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
      where subject is not null group by subject order by subject) as sums)
  select (select count(*) from changed), (select count(*) from known), (select count(*) from charged)
  into stored, known, charges;
end $$;
`

export const booking: Migration = {
  name: 'booking',
  sql: `
-- Removes rows, with their sums, that a better report in the batch will replace; false if there are none.
create function remove_lesser_usage(p_batch jsonb) returns boolean ${planned} as $$
declare
  removed bigint;
begin
  with changed as (
    delete from usage u using ${incoming}
    where u.admission_id = r.admission_id and ${isLess}
    returning u.*), ${addSums(-1)}
  select count(*) into removed from changed;
  return removed > 0;
end $$;
${insertUsage(`started_at + duration_ms * interval '1 millisecond' > now() - interval '2 minutes'`)}
-- The tokens reserved for these requests are used now. If a second worker took over, the first one's
-- report does not end the reservation.
create function settle_reservations(p_reported jsonb) returns void ${planned} as $$
begin
  delete from token_reservations t
  using jsonb_to_recordset(p_reported) as r(admission_id uuid, worker_id text)
  where t.admission_id = r.admission_id and (t.worker_id is null or t.worker_id = r.worker_id);
end $$;
`,
}
