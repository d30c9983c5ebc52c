-- The drain budget of pmcheck: which masters of a pool are out.
--
-- Run it in a database of its own, as a superuser; it may be run again. It needs two roles:
--
--   pmcheck        the masters. They may call functions and have no right on a table.
--   pmcheck_admin  owns everything here, and nobody logs in as that. It must be a member of
--                  pmcheck, or PostgreSQL hides the certificates of masters from it.
--
-- The functions take the name of the master from its certificate, and the time from
-- this server.
begin;
set local role pmcheck_admin;
set local client_min_messages = warning;

do $$
begin
  if not pg_has_role('pmcheck_admin', 'pmcheck', 'usage') then
    raise exception 'role pmcheck_admin is not a member of pmcheck' using hint = 'grant pmcheck to pmcheck_admin';
  end if;
end $$;

create schema if not exists pmcheck;
revoke all on schema pmcheck from public;
grant usage on schema pmcheck to pmcheck;

create or replace function pmcheck.version() returns integer language sql immutable as 'select 1';

-- One row for each master, whose name is in its certificate: nobody can fill a table.
create table if not exists pmcheck.seen (
  master text        primary key,
  pool   text        not null,
  at     timestamptz not null,  -- when it last asked
  lapse  interval    not null   -- its budget.lapse
);

create table if not exists pmcheck.slot (
  master   text        primary key,
  pool     text        not null,
  since    timestamptz not null,  -- when the master went out
  claimed  timestamptz not null,  -- when a command or the guard last asked for the slot
  seen     timestamptz not null,  -- when the master last said that it is out
  lapse    interval    not null,  -- its budget.lapse: how long after that it counts
  reason   text        not null,
  by       text        not null,
  forced   boolean     not null,  -- more than max_out were out with it
  recorded boolean     not null   -- out without having asked
);

-- me returns the name in the certificate of this connection. PostgreSQL cuts the subject
-- after 63 bytes, so a name that may have been cut is refused.
create or replace function pmcheck.me() returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  dn text := (select client_dn from pg_stat_ssl where pid = pg_backend_pid());
begin
  if dn ~ '^/CN=[a-z0-9._-]{1,58}$' then
    return substr(dn, 5);
  end if;
  raise exception 'certificate "%" does not name a master', coalesce(dn, '')
    using errcode = 'insufficient_privilege', hint = 'a certname has at most 58 of a-z 0-9 . _ -';
end $$;

create or replace function pmcheck.started() returns timestamptz
language sql stable as 'select pg_catalog.pg_postmaster_start_time()';

-- horizon returns the moment since which a master with this lapse must have been heard of to count. A server that was
-- down, or came from a backup, gives every master a lapse to say that it is out. The lapse is always the row's own,
-- written by its master: no master can end the slot of another by naming a shorter one.
create or replace function pmcheck.horizon(lapse interval) returns timestamptz
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select case when pmcheck.started() < h then h else '-infinity' end
  from (select clock_timestamp() - lapse) as t (h)
$$;

-- enter notes that a master of a pool asks, and returns its name and the moment. A master cannot change
-- its pool while it is out, but a slot that has lapsed does not keep it.
create or replace function pmcheck.enter(of_pool text, lapse interval, out me text, out at timestamptz)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  if of_pool !~ '^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$' then
    raise exception 'pool "%" is not a name', left(of_pool, 64) using errcode = 'invalid_parameter_value';
  end if;
  if lapse not between interval '5 minutes' and interval '30 days' then
    raise exception 'lapse "%" is not from 5 minutes to 30 days', lapse using errcode = 'invalid_parameter_value';
  end if;
  me := pmcheck.me();
  at := clock_timestamp();
  delete from pmcheck.slot s where s.master = me and s.pool <> of_pool and s.seen < pmcheck.horizon(s.lapse);
  if exists (select from pmcheck.slot s where s.master = me and s.pool <> of_pool) then
    raise exception '% is out in another pool', me
      using errcode = 'object_in_use', hint = 'set budget.pool as it was until it serves';
  end if;
  insert into pmcheck.seen values (me, of_pool, at, lapse)
    on conflict (master) do update set pool = excluded.pool, at = excluded.at, lapse = excluded.lapse;
end $$;

-- allowed returns how many masters of a pool may be out: a number, or a percentage of the masters that
-- were seen since their horizon or are out, at least one.
create or replace function pmcheck.allowed(of_pool text, max_out text) returns integer
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  masters integer;
begin
  if max_out !~ '^[1-9][0-9]{0,3}%?$' then
    raise exception 'max_out "%" is neither a number nor a percentage', left(max_out, 64)
      using errcode = 'invalid_parameter_value';
  end if;
  if max_out !~ '%$' then
    return max_out::integer;
  end if;
  select count(*) into masters from (
    select master from pmcheck.seen s where s.pool = of_pool and s.at >= pmcheck.horizon(s.lapse)
    union select master from pmcheck.slot s where s.pool = of_pool and s.seen >= pmcheck.horizon(s.lapse)) as m;
  return greatest(1, masters * least(100, rtrim(max_out, '%')::integer) / 100);
end $$;

-- view returns a pool as JSON, as its caller sees it.
create or replace function pmcheck.view(of_pool text, me text, max_out text) returns json
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select json_build_object(
    'allowed', pmcheck.allowed(of_pool, max_out),
    'out', count(*) filter (where not lapsed),
    'forced', count(*) filter (where not lapsed and s.forced),
    'has_slot', coalesce(bool_or(s.master = me), false),
    'slots', coalesce(json_agg(json_build_object(
      'master', s.master, 'since', s.since, 'reason', s.reason, 'by', s.by, 'forced', s.forced, 'recorded', s.recorded,
      'own', s.master = me, 'lapsed', lapsed) order by s.since, s.master), '[]'))
  from (select *, seen < pmcheck.horizon(lapse) as lapsed from pmcheck.slot where pool = of_pool) as s
$$;

create or replace function pmcheck.look(of_pool text, lapse interval, max_out text) returns json
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select pmcheck.view(of_pool, me, max_out) from pmcheck.enter(of_pool, lapse)
$$;

-- claim takes a slot if fewer than allowed other masters are out, or if force is set. A
-- master that has a slot keeps it; one that is only recorded as out must not serve, or
-- it would leave although another is out. The caller has claimed if its row in the
-- answer is not a recorded one. The reason stays that of the first to claim.
create or replace function pmcheck.claim(
  of_pool text, lapse interval, max_out text, why text, who text, serves boolean, force boolean) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  me text;
  others integer;
  allowed integer;
  now timestamptz;
begin
  select e.me into me from pmcheck.enter(of_pool, lapse) as e;
  why := left(why, 300);
  who := left(who, 64);
  perform pg_advisory_xact_lock(hashtextextended('pmcheck ' || of_pool, 0));
  now := clock_timestamp();
  delete from pmcheck.slot s where s.pool = of_pool and s.seen < pmcheck.horizon(s.lapse);
  allowed := pmcheck.allowed(of_pool, max_out);
  select count(*) into others from pmcheck.slot s where s.pool = of_pool and s.master <> me;
  if others < allowed or force or exists (select from pmcheck.slot s
      where s.master = me and not (s.recorded and serves)) then
    insert into pmcheck.slot as s
      values (me, of_pool, now, now, now, lapse, why, who, force and others >= allowed, false)
      on conflict (master) do update set claimed = now, seen = now, lapse = excluded.lapse, recorded = false,
        forced = s.forced or s.recorded and excluded.forced,
        by = case when s.recorded then who else s.by end,
        reason = case when why <> '' and (s.recorded or s.by = who) then why else s.reason end;
  end if;
  return pmcheck.view(of_pool, me, max_out);
end $$;

-- renew says that the master is out, whether it asked or not.
create or replace function pmcheck.renew(of_pool text, lapse interval, max_out text, why text) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  e record;
begin
  select * into e from pmcheck.enter(of_pool, lapse);
  insert into pmcheck.slot values (e.me, of_pool, e.at, e.at, e.at, lapse, left(why, 300), '', false, true)
    on conflict (master) do update set seen = e.at, lapse = excluded.lapse;
  return pmcheck.view(of_pool, e.me, max_out);
end $$;

-- give_back ends the slot of the caller, unless it was claimed within settle: the hold
-- for which a command has claimed it may not be written yet.
create or replace function pmcheck.give_back(of_pool text, lapse interval, max_out text, settle interval) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  me text := (select e.me from pmcheck.enter(of_pool, lapse) as e);
begin
  delete from pmcheck.slot s where s.master = me and s.claimed < clock_timestamp() - settle;
  return pmcheck.view(of_pool, me, max_out);
end $$;

revoke all on all tables in schema pmcheck from public, pmcheck;
revoke all on all functions in schema pmcheck from public, pmcheck;
grant execute on function
  pmcheck.version(),
  pmcheck.look(text, interval, text),
  pmcheck.claim(text, interval, text, text, text, boolean, boolean),
  pmcheck.renew(text, interval, text, text),
  pmcheck.give_back(text, interval, text, interval)
  to pmcheck;
commit;
