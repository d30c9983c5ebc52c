-- The drain budget of pmcheck: which masters of a pool are out.
--
-- Run it in a database of its own, by the role pmcheck_admin or a superuser; it may be
-- run again. It needs two roles:
--
--   pmcheck        the masters. They may call functions and have no right on a table.
--   pmcheck_admin  owns everything here and frees slots. It must be a member of
--                  pmcheck, or PostgreSQL hides the certificates of masters from it.
--
-- The functions take the name of the master from its certificate, and the time from
-- this server.
begin;
set local role pmcheck_admin;
set local client_min_messages = warning;

do $$
declare
  version integer;
begin
  if not pg_has_role('pmcheck_admin', 'pmcheck', 'usage') then
    raise exception 'role pmcheck_admin is not a member of pmcheck' using hint = 'grant pmcheck to pmcheck_admin';
  end if;
  if to_regprocedure('pmcheck.version()') is not null then
    execute 'select pmcheck.version()' into version;
    if version > 1 then
      raise exception 'the schema has version %, which is newer than 1', version;
    end if;
  end if;
end $$;

create schema if not exists pmcheck;
revoke all on schema pmcheck from public;
grant usage on schema pmcheck to pmcheck;

create or replace function pmcheck.version() returns integer language sql immutable as 'select 1';

create table if not exists pmcheck.slot (
  pool     text        not null,
  master   text        not null,
  since    timestamptz not null,  -- when the master went out
  claimed  timestamptz not null,  -- when a command or the guard last asked for the slot
  seen     timestamptz not null,  -- when the master last said that it is out
  reason   text        not null,
  by       text        not null,
  forced   boolean     not null,  -- more than max_out were out with it
  recorded boolean     not null,  -- out without having asked
  max_out  integer     not null,  -- by the master's own configuration
  primary key (pool, master)
);

create table if not exists pmcheck.refusal (
  pool   text        not null,
  master text        not null,
  times  bigint      not null,
  last   timestamptz not null,
  primary key (pool, master)
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

-- horizon returns the moment since which a master must have been heard of to count. A
-- server that was down, or came from a backup, gives every master a lapse to say that it
-- is out. The floor keeps a master from removing the rows of masters that live, whatever
-- lapse it names.
create or replace function pmcheck.horizon(lapse interval) returns timestamptz
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select case when pmcheck.started() < h then h else '-infinity' end
  from (select clock_timestamp() - greatest(lapse, interval '5 minutes')) as t (h)
$$;

-- view returns a pool as JSON, as its caller sees it.
create or replace function pmcheck.view(of_pool text, me text, lapse interval) returns json
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select json_build_object(
    'now', clock_timestamp(),
    'refused', coalesce((select times from pmcheck.refusal r where r.pool = of_pool and r.master = me), 0),
    'slots', coalesce(json_agg(json_build_object(
      'master', s.master, 'since', s.since, 'seen', s.seen, 'reason', s.reason, 'by', s.by,
      'forced', s.forced, 'recorded', s.recorded, 'max_out', s.max_out,
      'own', s.master = me, 'lapsed', s.seen < horizon) order by s.since, s.master), '[]'))
  from pmcheck.slot s, (select pmcheck.horizon(lapse)) as t (horizon) where s.pool = of_pool
$$;

create or replace function pmcheck.look(of_pool text, lapse interval) returns json
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select pmcheck.view(of_pool, pmcheck.me(), lapse)
$$;

-- claim takes a slot if fewer than allowed other masters are out, or if force is set. A
-- master that has a slot keeps it; one that is only recorded as out must not serve, or
-- it would leave although another is out. The caller has claimed if its row in the
-- answer is not a recorded one. The reason stays that of the first to claim.
-- Refusals within a minute count once: they are those of a command that waits.
create or replace function pmcheck.claim(
  of_pool text, lapse interval, allowed integer, why text, who text, serves boolean, force boolean) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  me text := pmcheck.me();
  others integer;
  at timestamptz;
begin
  perform pg_advisory_xact_lock(hashtextextended('pmcheck ' || of_pool, 0));
  at := clock_timestamp();
  delete from pmcheck.slot s where s.pool = of_pool and s.seen < (select pmcheck.horizon(lapse));
  select count(*) into others from pmcheck.slot s where s.pool = of_pool and s.master <> me;
  if others < allowed or force or exists (select from pmcheck.slot s
      where s.pool = of_pool and s.master = me and not (s.recorded and serves)) then
    insert into pmcheck.slot as s
      values (of_pool, me, at, at, at, why, who, force and others >= allowed, false, allowed)
      on conflict (pool, master) do update set claimed = at, seen = at, max_out = allowed, recorded = false,
        forced = s.forced or s.recorded and excluded.forced,
        by = case when s.recorded then who else s.by end,
        reason = case when why <> '' and (s.recorded or s.by = who) then why else s.reason end;
  else
    insert into pmcheck.refusal as r values (of_pool, me, 1, at)
      on conflict (pool, master) do update set times = r.times + 1, last = at
      where r.last < at - interval '1 minute';
  end if;
  return pmcheck.view(of_pool, me, lapse);
end $$;

-- renew says that the master is out, whether it asked or not.
create or replace function pmcheck.renew(of_pool text, lapse interval, allowed integer, why text) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  me text := pmcheck.me();
  at timestamptz := clock_timestamp();
begin
  insert into pmcheck.slot values (of_pool, me, at, at, at, why, '', false, true, allowed)
    on conflict (pool, master) do update set seen = at, max_out = allowed;
  return pmcheck.view(of_pool, me, lapse);
end $$;

-- give_back ends the slot of the caller, unless it was claimed within settle: the hold
-- for which a command has claimed it may not be written yet.
create or replace function pmcheck.give_back(of_pool text, lapse interval, settle interval) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  me text := pmcheck.me();
begin
  delete from pmcheck.slot s where s.pool = of_pool and s.master = me and s.claimed < clock_timestamp() - settle;
  return pmcheck.view(of_pool, me, lapse);
end $$;

-- free ends the slot of any master and tells whether there was one. Only the
-- administrator may.
create or replace function pmcheck.free(of_pool text, name text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  delete from pmcheck.slot s where s.pool = of_pool and s.master = name;
  return found;
end $$;

revoke all on all tables in schema pmcheck from public, pmcheck;
revoke all on all functions in schema pmcheck from public, pmcheck;
grant execute on function
  pmcheck.version(),
  pmcheck.look(text, interval),
  pmcheck.claim(text, interval, integer, text, text, boolean, boolean),
  pmcheck.renew(text, interval, integer, text),
  pmcheck.give_back(text, interval, interval)
  to pmcheck;
commit;
