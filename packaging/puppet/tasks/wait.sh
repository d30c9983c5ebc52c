#!/bin/sh
# Blocks until balancers are told what is waited for. It changes nothing, but
# what is waited for may be something that noop leaves undone.
. "$PT__installdir/pmcheck/files/task.sh"
set -- wait "--for=$PT_for" "--timeout=${PT_timeout:-5m}"
[ -z "${PT_service:-}" ] || set -- "$@" "--service=$PT_service"
if [ "${PT__noop:-false}" = true ]; then
    would "$@"
fi
must "$@"
printf '{"reached": true, "for": %s, "state": %s}\n' "$(quote "$PT_for")" "$(quote "$(printf '%s\n' "$err" | tail -n 1)")"
