#!/bin/sh
# Sets or lifts a hold where there is no pmcheck command: in a container, over a
# shared directory, from an installer. A hold is a file, that is all.
#
#   hold-file.sh set 'restoring the database'
#   hold-file.sh lift
#
# The reason must not contain a quotation mark or a backslash.
set -eu
umask 022 # pmcheck's own user has to be able to read the file

dir=${HOLDS:-/var/lib/pmcheck/holds}
holder=${HOLDER:-restore}

case ${1-} in
set)
    # A name with a dot in front is no hold yet. To rename it is to set it whole:
    # pmcheck never sees half a file, which would count as maint.
    printf '{"mode": "drain", "reason": "%s"}\n' "${2-}" >"$dir/.$holder.tmp"
    mv "$dir/.$holder.tmp" "$dir/$holder.json"
    ;;
lift)
    rm -f "$dir/$holder.json"
    ;;
*)
    echo "usage: $0 set REASON | lift" >&2
    exit 2
    ;;
esac
