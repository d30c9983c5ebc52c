#!/bin/sh
# Moves port 9200 from a check that xinetd runs to pmcheck, faster than a balancer
# takes the master DOWN. If pmcheck does not answer 200 in time, or a balancer asks for
# something that pmcheck refuses, xinetd gets the port back. In the end it offers to set
# balancers in pmcheck.yaml to the clients that it saw.
#
#   migrate.sh [FILE]
#
# FILE describes the old check, such as /etc/xinetd.d/puppetserver_check. The default is
# the file in /etc/xinetd.d with "port = 9200".
#
# First mask pmcheck.socket and pmcheck.service, so that pmcheck does not take the port when
# xinetd is stopped, and the guard, which would delay each stop of Puppet Server. Then
# install pmcheck, and write /etc/pmcheck/pmcheck.yaml if you need one.
set -eu

port=9200
# The time in milliseconds in which pmcheck must answer. This and the way back must fit
# into (fall - 1) x inter of the balancer: 4 s with inter 2s and fall 3.
patience=2000
# The time in seconds for which the answers to balancers are watched: more than their inter.
watch=15
config=/etc/pmcheck/pmcheck.yaml
servers='puppetserver pe-puppetserver puppet-master'

# guards runs systemctl with these arguments for the guard of each server.
guards() {
    for server in $servers; do
        systemctl --quiet "$@" "pmcheck-guard@$server.service" || echo "migrate: systemctl $* pmcheck-guard@$server.service failed" >&2
    done
}

die() {
    echo "migrate: $*" >&2
    exit 1
}

answer() { # prints the status code that port $1 answers, 000 without an answer
    curl --silent --output /dev/null --noproxy '*' --max-time 0.5 --write-out '%{http_code}' "http://127.0.0.1:$1/" || true
}

until_answer() { # answer 200 on port $1, within $2 milliseconds
    end=$(($(date +%s%3N) + $2))
    while [ "$(answer "$1")" != 200 ]; do
        [ "$(date +%s%3N)" -lt $end ] || return 1
        sleep 0.1
    done
}

# find_old prints the file of the check, without the copy that let_go makes of it.
find_old() {
    grep -lE --exclude='*.before-pmcheck' "^[[:space:]]*port[[:space:]]*=[[:space:]]*${port}[[:space:]]*\$" /etc/xinetd.d/* || true
}

# rehearse runs pmcheck beside the old check, on a port that no balancer uses.
rehearse() {
    PMCHECK_SOCKET=/run/pmcheck-rehearsal.sock PMCHECK_LISTEN=127.0.0.1:19200 pmcheck serve 2>/run/pmcheck-rehearsal.log &
    rehearsal=$!
    passed=false
    if until_answer 19200 20000; then
        passed=true
    fi
    kill $rehearsal 2>/dev/null || true
    wait $rehearsal || true
    $passed || die "pmcheck does not answer 200 to http://127.0.0.1 here, so nothing was changed; see
    /run/pmcheck-rehearsal.log. If that has no error: pmcheck.yaml must have 127.0.0.1 in allow, if that is set"
}

# let_go makes xinetd close the port and returns when it is closed.
let_go() {
    cp -p "$old" "$old.before-pmcheck" # xinetd does not read names with a dot
    sed -i -e '/^[[:space:]]*disable[[:space:]]*=/d' -e 's/^[[:space:]]*{/&\n    disable = yes/' "$old"
    systemctl reload xinetd
    tries=50
    while [ -n "$(ss --no-header --listening --tcp --numeric "sport = :$port")" ]; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.02
    done
}

back() {
    systemctl stop pmcheck.socket pmcheck.service || true
    mv "$old.before-pmcheck" "$old"
    systemctl reload-or-restart xinetd
    # As before: neither a stop of xinetd nor a reboot gives the port to pmcheck.
    systemctl --quiet disable pmcheck.socket pmcheck.service || true
    systemctl --quiet mask pmcheck.socket pmcheck.service || true
    guards mask
    until_answer $port 10000 || die "xinetd has the port back, and its check does not answer 200 either"
    die "$*; xinetd has the port back"
}

# refused prints which clients are refused, and what they ask. The first refusal counts, since a balancer takes the
# master DOWN after a few. It knows the order of the fields, and that each has a line of its own.
refused() {
    pmcheck status --json | awk -F '": ' '
        /^  "refused": \{/ { inside = 1 }
        /^  }/ { inside = 0 }
        !inside { next }
        /"source":/ { source = $2 }
        /"by": "allow"/ { print source " is not in allow" }
        /"asked":/ { print source " asks " $2 }' | tr -d '",'
}

# clients prints the addresses that ask, without this host's own.
clients() {
    pmcheck status --json | awk -F '"' '
        /^  "balancers": \[$/ { inside = 1 }
        /^  \]/ { inside = 0 }
        inside && $2 == "source" && $4 !~ /^127\./ && $4 != "::1" { print $4 }' |
        sort -u | paste -s -d , - | sed 's/,/, /g'
}

# offer sets balancers to the clients that ask, if the operator agrees.
offer() {
    seen=$(clients)
    if [ -z "$seen" ] || grep -q '^balancers:' "$config" 2>/dev/null; then
        return
    fi
    line="balancers: [$seen]"
    printf 'These clients ask. No other is believed with this line in %s:\n\n    %s\n\nAdd it? [y/N] ' "$config" "$line"
    read -r reply || reply=n
    echo
    case $reply in
    y | Y | yes) ;;
    *) return ;;
    esac

    before=$(cat "$config" 2>/dev/null || true)
    printf '%s\n' "${before:+$before
}$line" >"$config"
    if ! pmcheck config --check "$config" || ! systemctl reload pmcheck.service; then
        printf '%s\n' "$before" >"$config"
        echo "migrate: $config is as before" >&2
    fi
}

old=${1-$(find_old)}
[ -f "$old" ] || die "which file of /etc/xinetd.d is the old check?"
[ ! -e "$old.before-pmcheck" ] || die "migrated already: $old.before-pmcheck exists (the README has the way back)"
until_answer $port 5000 || die "the old check does not answer 200 to 127.0.0.1; run this when it does.
    If it answers balancers: only_from in $old lacks 127.0.0.1"
rehearse

systemctl --quiet unmask pmcheck.socket pmcheck.service
# Units that were not masked have failed: they could not bind the port.
systemctl stop pmcheck.socket pmcheck.service
systemctl reset-failed pmcheck.socket pmcheck.service 2>/dev/null || true
systemctl --quiet enable pmcheck.socket pmcheck.service

let_go || back "xinetd does not close port $port"
systemctl start pmcheck.socket pmcheck.service || back "pmcheck does not start"
until_answer $port $patience || back "pmcheck does not answer 200"

end=$(($(date +%s) + watch))
while [ "$(date +%s)" -lt $end ]; do
    who=$(refused)
    [ -z "$who" ] || back "a client is refused: $who"
    sleep 0.5
done

# From now on the guard can ask a daemon. It is started with its server, and here if that runs.
guards unmask
guards enable
for server in $servers; do
    if systemctl --quiet is-active "$server.service"; then
        systemctl --no-block start "pmcheck-guard@$server.service" || true
    fi
done
echo "pmcheck answers on port $port. The old check is disabled in $old."
offer
