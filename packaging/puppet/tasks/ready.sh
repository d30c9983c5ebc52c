#!/bin/sh
# Lifts a hold.
. "$PT__installdir/pmcheck/files/task.sh"
if [ "${PT_all:-false}" = true ]; then
    set -- --all
else
    set -- "--hold=${PT_hold:-operator}"
    [ -z "${PT_service:-}" ] || set -- "$@" "--service=$PT_service"
fi
[ -z "${PT_wait:-}" ] || set -- "$@" --wait "--timeout=$PT_wait"
change ready "$@"
