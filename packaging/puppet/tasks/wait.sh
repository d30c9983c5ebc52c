#!/bin/sh
# Blocks until balancers get the answer in $PT_for. It changes nothing; with noop it does
# not wait, since the change that it would wait for may not have been made.
. "$PT__installdir/pmcheck/files/task.sh"
set -- wait "--for=$PT_for" "--timeout=${PT_timeout:-5m}"
[ -z "${PT_service:-}" ] || set -- "$@" "--service=$PT_service"
if [ "${PT__noop:-false}" = true ]; then
    would "$@"
fi
must "$@"
printf '{"reached": true, "for": %s, "state": %s}\n' "$(quote "$PT_for")" "$(quote "$(printf '%s\n' "$err" | tail -n 1)")"
