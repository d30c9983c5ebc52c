#!/bin/sh
# Moves port 9200 from a check that xinetd runs to pmcheck, faster than a balancer
# takes the master DOWN. If pmcheck does not answer 200 in time, or a balancer asks for
# something that pmcheck refuses, xinetd gets the port back. What only_from allowed, allow
# in pmcheck.yaml allows. In the end it offers to set balancers to the clients that it saw.
#
#   migrate.sh [--allow] [FILE]
#
# With --allow it only prints the line that it would add for only_from. FILE describes the old check, such as /etc/xinetd.d/puppetserver_check. The default is
# the file in /etc/xinetd.d with "port = 9200".
#
# First mask pmcheck.socket and pmcheck.service, so that pmcheck does not take the port when
# xinetd is stopped, and the guard, which would delay each stop of Puppet Server. Then
# install pmcheck, and write /etc/pmcheck/pmcheck.yaml if you need one.
set -eu

port=9200
# The time in milliseconds in which xinetd must have closed the port and pmcheck must answer there. This and the way
# back must fit into (fall - 1) x inter of the balancer: 4 s with inter 2s and fall 3.
patience=2500
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

until_200() { # the command $2... prints 200 within $1 milliseconds
    end=$(($(date +%s%3N) + $1))
    shift
    while [ "$("$@")" != 200 ]; do
        [ "$(date +%s%3N)" -lt $end ] || return 1
        sleep 0.1
    done
}

listening() { [ -n "$(ss --no-header --listening --tcp --numeric "sport = :$port")" ]; }

# find_old prints the file of the check, without the copy that let_go makes of it.
find_old() {
    grep -lE --exclude='*.before-pmcheck' "^[[:space:]]*port[[:space:]]*=[[:space:]]*${port}[[:space:]]*\$" /etc/xinetd.d/* || true
}

# attributes prints the lines of the old check in the files of xinetd, those of its defaults first. A file may describe
# other services, too, on ports of their own.
attributes() {
    awk -v port="$port" '
        /^[[:space:]]*(service|defaults)/ { lines = ""; other = 0 }
        /^[[:space:]]*#/ { next }
        /^[[:space:]]*}/ { if (!other) printf "%s", lines; lines = ""; next }
        {
            sub(/[-+]?=/, " & ")
            if ($1 == "port" && $3 != port) other = 1
            lines = lines $0 "\n"
        }' "$@"
}

attribute() { # prints the value of $1 in the old check
    attributes "$old" | awk -v name="$1" '$1 == name { for (i = 3; i <= NF; i++) printf "%s ", $i }'
}

# listed prints only_from of the old check and of the defaults of xinetd, a word a line. It fails if the list alone does
# not say who is allowed.
listed() {
    defaults=/etc/xinetd.conf
    [ -f "$defaults" ] || defaults=
    # shellcheck disable=SC2086 # no file, or one
    attributes $defaults "$old" | awk '
        { $1 = $1 }
        $1 == "no_access" && NF > 2 { bad = 1; print $0 > "/dev/stderr" }
        $1 != "only_from" { next }
        { found = 1 }
        $2 == "-=" { bad = 1; print $0 > "/dev/stderr" }
        $2 == "=" { words = "" }
        { for (i = 3; i <= NF; i++) words = words $i "\n" }
        END {
            if (found && words == "") { bad = 1; print "only_from without an address" > "/dev/stderr" }
            printf "%s", words
            exit bad
        }'
}

# networks prints the networks that a word of only_from stands for, as allow has them. It fails if there is none.
networks() {
    case $1 in
    .*) return 1 ;; # every host of a domain
    *:*) echo "$1" ;;
    *.\{*\})
        factors=${1#*\{}
        for last in $(echo "${factors%\}}" | tr , ' '); do
            [ "$last" -gt 0 ] || return 1
            zeros "${1%%\{*}$last" || return 1
        done
        ;;
    [0-9]*/*) masked "$1" ;;
    *[!0-9.]*) named "$1" ;;
    *) zeros "$1" ;;
    esac
}

# zeros prints the network of an IPv4 address, whose components that are 0 or missing at the end stand for any number.
zeros() {
    echo "$1" | awk -F . '
        NF > 4 { exit 1 }
        { for (i = 1; i <= NF; i++) if ($i == "" || $i > 255) exit 1 }
        {
            for (n = NF; n > 0 && $n == 0; n--);
            for (i = 1; i <= 4; i++) address = address (i > 1 ? "." : "") (i > n ? 0 : $i)
            print address (n < 4 ? "/" 8 * n : "")
        }'
}

# masked prints an IPv4 network without the bits beyond its mask, which xinetd ignores and pmcheck refuses.
masked() {
    echo "$1" | awk -F '[./]' '
        NF != 5 || $5 > 32 { exit 1 }
        {
            for (i = 1; i <= 4; i++) {
                host = 8 * i - $5
                block = host <= 0 ? 1 : host >= 8 ? 256 : 2 ^ host
                address = address (i > 1 ? "." : "") ($i - $i % block)
            }
            print address "/" $5
        }'
}

# named prints the network of a name in /etc/networks, or the addresses that a host has now.
named() {
    if network=$(getent networks "$1"); then
        zeros "${network##* }"
        return
    fi
    getent ahosts "$1" | cut -d ' ' -f 1 | sort -u | grep .
}

# allow prints the setting of pmcheck for only_from: nothing if there is none. It fails, and says why, if the setting
# would not mean the same. This host asks itself, be it with curl.
allow() {
    why=$(listed 2>&1 >/dev/null) || {
        echo "cannot be translated: $why"
        return 1
    }
    list=
    for word in $(listed); do
        found=$(networks "$word") || {
            echo "cannot be translated: $word"
            return 1
        }
        list="$list $found"
    done
    [ -n "$list" ] || return 0
    # shellcheck disable=SC2086 # a list of words
    printf '%s\n' $list 127.0.0.0/8 ::1 | awk '!seen[$0]++ { printf "%s\"%s\"", (NR > 1 ? ", " : "allow: ["), $0 } END { print "]" }'
}

# add adds a line to pmcheck.yaml. It fails, and leaves the file as it was, if pmcheck refuses that.
add() {
    before=$(cat "$config" 2>/dev/null || true)
    printf '%s\n' "${before:+$before
}$1" >"$config"
    pmcheck config --check "$config" || {
        restore
        return 1
    }
}

# restore takes back what add has added.
restore() {
    [ -z "${before+set}" ] || printf '%s\n' "$before" >"$config"
}

# restrict lets pmcheck allow whom the old check allowed, unless pmcheck.yaml says it already.
restrict() {
    if grep -q '^allow:' "$config" 2>/dev/null; then
        return
    fi
    line=$(allow) || {
        echo "migrate: only_from $line; so allow in $config stays, and any client may ask. Set it by hand."
        return
    }
    [ -n "$line" ] || return 0
    if add "$line"; then
        echo "migrate: as only_from of the old check, $config now has $line"
    else
        echo "migrate: pmcheck refuses $line; so any client may ask. Set allow in $config by hand."
    fi
}

# old_answer prints the status code of the old check. xinetd hangs up on a client that is not in only_from, which this
# host may not be: then the program of the check is run as xinetd runs it.
old_answer() {
    code=$(answer $port)
    if [ "$code" = 000 ] && listening && [ -n "$(listed 2>/dev/null || true)" ]; then
        code=$(run_old)
    fi
    echo "$code"
}

run_old() {
    arguments=$(attribute server_args)
    case $(attribute flags) in *NAMEINARGS*) arguments=${arguments#* } ;; esac
    user=$(attribute user)
    # shellcheck disable=SC2046,SC2086 # words
    printf 'GET / HTTP/1.0\r\n\r\n' |
        timeout 5 runuser -u ${user:-root} -- $(attribute server) $arguments 2>/dev/null |
        sed -n '1s/^HTTP[^ ]* \([0-9]*\).*/\1/p'
}

# rehearse runs pmcheck beside the old check, on a port that no balancer uses.
rehearse() {
    PMCHECK_SOCKET=/run/pmcheck-rehearsal.sock PMCHECK_LISTEN=127.0.0.1:19200 pmcheck serve 2>/run/pmcheck-rehearsal.log &
    rehearsal=$!
    passed=false
    if until_200 20000 answer 19200; then
        passed=true
    fi
    kill $rehearsal 2>/dev/null || true
    wait $rehearsal || true
    $passed || restore
    $passed || die "pmcheck does not answer 200 to http://127.0.0.1 here, so nothing was changed; see
    /run/pmcheck-rehearsal.log. If that has no error: allow in pmcheck.yaml must have 127.0.0.1, if it is set"
}

# let_go makes xinetd close the port and returns when it is closed.
let_go() {
    cp -p "$old" "$old.before-pmcheck" # xinetd does not read names with a dot
    sed -i -e '/^[[:space:]]*disable[[:space:]]*=/d' -e 's/^[[:space:]]*{/&\n    disable = yes/' "$old"
    systemctl reload xinetd
    tries=50
    while listening; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.02
    done
}

back() {
    restore
    systemctl stop pmcheck.socket pmcheck.service || true
    mv "$old.before-pmcheck" "$old"
    systemctl reload-or-restart xinetd
    # As before: neither a stop of xinetd nor a reboot gives the port to pmcheck.
    systemctl --quiet disable pmcheck.socket pmcheck.service || true
    systemctl --quiet mask pmcheck.socket pmcheck.service || true
    guards mask
    until_200 10000 old_answer || die "xinetd has the port back, and its check does not answer 200 either"
    die "$*; xinetd has the port back"
}

# refused prints which clients are refused, and what they ask. The first refusal counts, since a balancer takes the
# master DOWN after a few; of a client that only connects, which any may do once, the second. It knows the order of the
# fields, and that each has a line of its own.
refused() {
    pmcheck status --json | awk -F '": ' '
        /^  "refused": \{/ { inside = 1 }
        /^  }/ { inside = 0 }
        !inside { next }
        /"address":/ { source = $2; silent = 0 }
        /"reason": "silence"/ { silent = 1 }
        /"count":/ { if (silent && $2 + 0 > 1) print source " connects and sends no request" }
        /"reason": "allow"/ { print source " is not in allow" }
        /"request": "/ { print source " asks " $2 }' | tr -d '",'
}

# clients prints the addresses that ask, without this host's own.
clients() {
    pmcheck status --json | awk -F '"' '
        /^  "balancers": \[$/ { inside = 1 }
        /^  \]/ { inside = 0 }
        inside && $2 == "address" && $4 !~ /^127\./ && $4 != "::1" { print $4 }' |
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

    if ! add "$line" || ! systemctl reload pmcheck.service; then
        restore
        echo "migrate: $config is as before" >&2
    fi
}

only=
if [ "${1-}" = --allow ]; then
    only=allow
    shift
fi
old=${1-$(find_old)}
[ -f "$old" ] || die "which file of /etc/xinetd.d is the old check?"
if [ -n "$only" ]; then
    allow
    exit
fi
[ ! -e "$old.before-pmcheck" ] || die "migrated already: $old.before-pmcheck exists (the README has the way back)"
until_200 5000 old_answer || die "the old check does not answer 200; run this when it does"
restrict
rehearse

systemctl --quiet unmask pmcheck.socket pmcheck.service
# Units that were not masked have failed: they could not bind the port.
systemctl stop pmcheck.socket pmcheck.service
systemctl reset-failed pmcheck.socket pmcheck.service 2>/dev/null || true
systemctl --quiet enable pmcheck.socket pmcheck.service

began=$(date +%s%3N)
let_go || back "xinetd does not close port $port"
systemctl start pmcheck.socket pmcheck.service || back "pmcheck does not start"
until_200 $((began + patience - $(date +%s%3N))) answer $port || back "pmcheck does not answer 200"

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
