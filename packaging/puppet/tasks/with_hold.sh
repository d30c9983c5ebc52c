#!/bin/sh
# Runs a command with a hold. The hold is lifted when the command ends.
. "$PT__installdir/pmcheck/files/task.sh"
set -- "--hold=${PT_hold:-with-hold}"
[ -z "${PT_service:-}" ] || set -- "$@" "--service=$PT_service"
[ -z "${PT_reason:-}" ] || set -- "$@" "--reason=$PT_reason"
[ -z "${PT_wait:-}" ] || set -- "$@" "--timeout=$PT_wait"
[ -z "${PT_return:-}" ] || set -- "$@" "--return=$PT_return"
[ "${PT_keep:-false}" != true ] || set -- "$@" --keep
set -- with-hold "$@" -- sh -c "$PT_command"
if [ "${PT__noop:-false}" = true ]; then
    would "$@"
fi
run "$@"
[ "$status" = 0 ] || fail failed "$err" "$status" "{\"output\": $(quote "$out")}"
said
