#!/bin/sh
# Sets or lifts a hold without the pmcheck command: in a container, over a shared
# directory, from an installer.
#
#   hold-file.sh set 'restoring the database'
#   hold-file.sh lift
#
# The reason must not contain a quotation mark or a backslash.
set -eu
umask 022 # the daemon's user must be able to read the file

dir=${HOLDS:-/var/lib/pmcheck/holds}
holder=${HOLDER:-restore}

case ${1-} in
set)
    # A file whose name begins with a dot is not a hold. The rename makes it one, so the
    # daemon never reads half a file, which would count as maint.
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
