/** Tokens of a month that running requests have reserved, until their usage is stored. */
import type { Migration } from '../database.ts'

export const reservations: Migration = {
  name: 'reservations',
  sql: `
-- The dearest request of the month: what another one must be expected to cost.
alter table usage_monthly add column largest bigint not null default 0;

-- A gateway that lives. What a dead one reserved counts no longer than this.
create table gateway_leases (
  gateway_id text primary key,
  expires_at timestamptz not null
);

-- One row for each admission and each limit (of its key, of its account). Storing its usage deletes it.
create table token_reservations (
  admission_id uuid not null,
  subject text not null,
  gateway_id text not null,
  tokens bigint not null check (tokens >= 0),
  primary key (subject, admission_id)
);
create index token_reservations_admission on token_reservations (admission_id);
create index token_reservations_gateway on token_reservations (gateway_id);

create function renew_gateway(p_gateway text, p_seconds float8) returns void language sql as $$
  insert into gateway_leases as l values (p_gateway, clock_timestamp() + make_interval(secs => p_seconds))
  on conflict (gateway_id) do update set expires_at = excluded.expires_at
$$;

-- Reserves for a batch of requests, all or nothing for each; answers with those that are refused: the
-- month is used up ('used'), or all that is left of it is reserved ('reserved'). A request that wants
-- more than is left gets the rest, so that a month can be used to its end.
create function reserve_tokens(p_gateway text, p_seconds float8, p_wanted jsonb)
returns table (admission uuid, subject text, refusal text) language plpgsql as $$
declare
  w record;
  used bigint;
  dearest bigint;
  reserved bigint;
  refused uuid[] := '{}';
begin
  perform renew_gateway(p_gateway, p_seconds);
  for w in
    select * from jsonb_to_recordset(p_wanted) as x(
      admission uuid, subject text, month_limit bigint, tokens bigint)
    order by x.subject, x.admission -- the same order everywhere: nobody waits in a circle
  loop
    perform pg_advisory_xact_lock(hashtextextended(w.subject, 7081421507));
    -- One statement: usage that is being stored shows either as reserved or as used.
    select coalesce(sum(m.tokens), 0), coalesce(max(m.largest), 0), coalesce((
        select sum(t.tokens) from token_reservations t join gateway_leases g on g.gateway_id = t.gateway_id
        where t.subject = w.subject and g.expires_at > clock_timestamp()), 0)
      into used, dearest, reserved
      from usage_monthly m
      where m.subject = w.subject and m.month = date_trunc('month', now() at time zone 'UTC')::date;
    if used + reserved < w.month_limit then
      insert into token_reservations values (w.admission, w.subject, p_gateway,
        least(greatest(w.tokens, dearest), w.month_limit - used - reserved));
    else
      refused := refused || w.admission;
      admission := w.admission;
      subject := w.subject;
      refusal := case when used < w.month_limit then 'reserved' else 'used' end;
      return next;
    end if;
  end loop;
  delete from token_reservations t where t.admission_id = any(refused);
end $$;
`,
}
