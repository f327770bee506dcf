/** Limits per minute start anew after the database's clock was set back by more than a minute. */
import type { Migration } from '../database.ts'

export const clockSetBack: Migration = {
  name: 'clock-set-back',
  sql: `
-- Locks a ring and turns it to the current slot, never back in time. If that is further ahead than
-- the ring is long, the clock was wrong: what was given out then would count until it catches up.
create function lock_slots(p_subject text, p_kind text, out slot bigint, out ring bigint[])
language plpgsql as $$
declare
  old_head bigint;
begin
  insert into allowances (subject, kind, head, slots)
    values (p_subject, p_kind, 0, array_fill(0::bigint, array[121])) on conflict do nothing;
  select a.head, a.slots into old_head, ring from allowances a
    where a.subject = p_subject and a.kind = p_kind for update;
  slot := floor(extract(epoch from clock_timestamp()) * 2)::bigint; -- read after the lock
  if old_head > slot + 120 then
    ring := array_fill(0::bigint, array[121]);
  else
    slot := greatest(old_head, slot);
    ring := turned_slots(ring, old_head, slot);
  end if;
end $$;

create or replace function take_allowance(
  p_subject text, p_kind text, p_limit bigint, p_want bigint, p_least bigint,
  out granted bigint, out used bigint, out slot bigint, out retry_ms bigint)
language plpgsql as $$
declare
  ring bigint[];
  freed bigint := 0;
begin
  select l.slot, l.ring into slot, ring from lock_slots(p_subject, p_kind) as l;
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

create or replace function adjust_allowance(p_subject text, p_kind text, p_slot bigint, p_amount bigint)
returns void language plpgsql as $$
declare
  ring bigint[];
  now_slot bigint;
  at int;
begin
  select l.slot, l.ring into now_slot, ring from lock_slots(p_subject, p_kind) as l;
  -- The ring has no such slot any more, or not yet: it was taken before the clock was set back.
  if p_slot is not null and (p_slot < now_slot - 120 or p_slot > now_slot) then return; end if;
  at := (coalesce(p_slot, now_slot) % 121)::int + 1;
  ring[at] := greatest(0, ring[at] + p_amount);
  update allowances a set head = now_slot, slots = ring
    where a.subject = p_subject and a.kind = p_kind;
end $$;
`,
}
