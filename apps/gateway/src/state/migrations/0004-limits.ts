/** What limits are counted in: allowances of the last minute, and streams that gateways hold. */
import type { Migration } from '../database.ts'

export const limits: Migration = {
  name: 'limits',
  sql: `
-- A ring of 121 half-second slots for each subject (a key or an account) and kind (requests or
-- tokens). Their sum is what was given out in the last minute: at least 60 s, at most 60.5.
create table allowances (
  subject text not null,
  kind text not null,
  head bigint not null,
  slots bigint[] not null,
  primary key (subject, kind)
);

create function turned_slots(p_slots bigint[], p_head bigint, p_now bigint) returns bigint[]
language plpgsql immutable as $$
declare
  turned bigint[] := p_slots;
begin
  for age in 0 .. least(120, p_now - p_head - 1)::int loop
    turned[((p_now - age) % 121)::int + 1] := 0;
  end loop;
  return turned;
end $$;

-- Gives out up to p_want, or nothing if less than p_least is left; then retry_ms says when it is.
create function take_allowance(
  p_subject text, p_kind text, p_limit bigint, p_want bigint, p_least bigint,
  out granted bigint, out used bigint, out slot bigint, out retry_ms bigint)
language plpgsql as $$
declare
  ring bigint[];
  old_head bigint;
  freed bigint := 0;
begin
  insert into allowances (subject, kind, head, slots)
    values (p_subject, p_kind, 0, array_fill(0::bigint, array[121])) on conflict do nothing;
  select a.head, a.slots into old_head, ring from allowances a
    where a.subject = p_subject and a.kind = p_kind for update;
  -- Read after the lock, and never back in time.
  slot := greatest(old_head, floor(extract(epoch from clock_timestamp()) * 2)::bigint);
  ring := turned_slots(ring, old_head, slot);
  select sum(x) into used from unnest(ring) as x;
  granted := greatest(0, least(p_want, p_limit - used));
  if granted < p_least then granted := 0; end if;
  retry_ms := 0;
  if granted = 0 then
    for age in reverse 120 .. 0 loop
      freed := freed + ring[((slot - age) % 121)::int + 1];
      retry_ms := (121 - age) * 500;
      exit when used - freed + p_least <= p_limit;
    end loop;
  end if;
  ring[(slot % 121)::int + 1] := ring[(slot % 121)::int + 1] + granted;
  used := used + granted;
  update allowances a set head = slot, slots = ring
    where a.subject = p_subject and a.kind = p_kind;
end $$;

-- Adds to a slot (the current one for NULL), or takes away what was given out and not used.
create function adjust_allowance(p_subject text, p_kind text, p_slot bigint, p_amount bigint)
returns void language plpgsql as $$
declare
  ring bigint[];
  old_head bigint;
  now_slot bigint;
  at int;
begin
  insert into allowances (subject, kind, head, slots)
    values (p_subject, p_kind, 0, array_fill(0::bigint, array[121])) on conflict do nothing;
  select a.head, a.slots into old_head, ring from allowances a
    where a.subject = p_subject and a.kind = p_kind for update;
  now_slot := greatest(old_head, floor(extract(epoch from clock_timestamp()) * 2)::bigint);
  if p_slot is not null and p_slot < now_slot - 120 then return; end if;
  ring := turned_slots(ring, old_head, now_slot);
  at := (coalesce(p_slot, now_slot) % 121)::int + 1;
  ring[at] := greatest(0, ring[at] + p_amount);
  update allowances a set head = now_slot, slots = ring
    where a.subject = p_subject and a.kind = p_kind;
end $$;

-- Streams that a gateway may have open; what a dead gateway held is free when its hold expires.
create table stream_holds (
  subject text not null,
  gateway_id text not null,
  held bigint not null check (held >= 0),
  expires_at timestamptz not null,
  primary key (subject, gateway_id)
);

create function hold_streams(
  p_subject text, p_gateway text, p_limit bigint, p_want bigint, p_seconds float8)
returns bigint language plpgsql as $$
declare
  total bigint;
  granted bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended(p_subject, 7081421506));
  select coalesce(sum(held), 0) into total from stream_holds
    where subject = p_subject and (expires_at > clock_timestamp() or gateway_id = p_gateway);
  granted := greatest(0, least(p_want, p_limit - total));
  if granted > 0 then
    insert into stream_holds as s (subject, gateway_id, held, expires_at)
    values (p_subject, p_gateway, granted, clock_timestamp() + make_interval(secs => p_seconds))
    on conflict (subject, gateway_id) do update
      set held = s.held + excluded.held, expires_at = excluded.expires_at;
  end if;
  return granted;
end $$;
`,
}
