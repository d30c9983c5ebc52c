#!/bin/sh
# Makes the database of the drain budget in the PostgreSQL that runs on this host, without Puppet:
#
#   ssh puppet1 sudo pmcheck budget --schema | sudo sh budget.sh 'puppet\d+\.example\.com'
#
# The regular expression must match the whole certname of each master. PostgreSQL gets copies of this host's Puppet
# certificate, key, CA and CRL unless it has others, in /etc/pmcheck-database: what is in its data directory gets into
# each backup. Run the script again when they change. Of the other databases nothing changes.
set -eu
masters=$1

# shellcheck disable=SC2016 # the inner shell expands it
sql() { su postgres -c 'cd /; psql -X -q -At -v ON_ERROR_STOP=1 "$1"' sql "$1"; }
show() { echo "show $1" | sql postgres; }

schema=$(cat) # before anything changes
copies=/etc/pmcheck-database hba=$(show hba_file) ident=$(show ident_file)
install -d -o root -g postgres -m 0750 "$copies"

copy() { # SETTING FILE: PostgreSQL reads a copy of Puppet's file, and takes a key of root's that its group can read
    new=$copies/$1.pem
    case $(show "$1") in '' | "$new" | *snakeoil*) ;; *) return 0 ;; esac
    install -o root -g postgres -m 0640 "$(puppet config print "$2")" "$new"
    echo "alter system set $1 = '$new'" | sql postgres
}
copy ssl_cert_file hostcert
copy ssl_key_file hostprivkey
copy ssl_ca_file localcacert
copy ssl_crl_file hostcrl

sql postgres <<'EOF'
alter system set ssl = on;
select 'create role pmcheck login connection limit 20' where to_regrole('pmcheck') is null \gexec
select 'create role pmcheck_admin in role pmcheck' where to_regrole('pmcheck_admin') is null \gexec
select 'create database pmcheck owner pmcheck_admin'
    where not exists (select from pg_database where datname = 'pmcheck') \gexec
EOF

rule='hostssl pmcheck pmcheck all cert map=pmcheck'
grep -qxF "$rule" "$hba" || sed -i "1i $rule" "$hba" # the first rule that matches decides
sed -i '/^pmcheck /d' "$ident"
printf 'pmcheck "/^(?:%s)$" pmcheck\n' "$masters" >>"$ident"

echo "$schema" | sql pmcheck
echo 'select pg_reload_conf()' | sql postgres >/dev/null
[ "$(show listen_addresses)" != localhost ] ||
    echo "PostgreSQL listens on localhost alone: set listen_addresses, and restart it" >&2
