#!/bin/sh
# Prints everything the daemon knows. A held or unhealthy master is not a failure of the
# task.
. "$PT__installdir/pmcheck/files/task.sh"
run status --json
case $status in
    0 | 3 | 4) printf '%s\n' "$out" ;;
    2) fail usage "$err" 2 ;;
    5) fail no-daemon "$err" 5 ;;
    *) fail failed "$err" "$status" ;;
esac
