# shellcheck shell=sh
# Functions of the tasks of this module, for any POSIX shell.
#
# A task gets its parameters as PT_ variables and writes one JSON object to stdout:
# pmcheck's own, or {"_error": …} with an exit status above 0.

# quote writes its argument as a JSON string.
quote() {
    printf '"'
    printf '%s\n' "$1" | tr '\t\r' '  ' | tr -d '\001-\011\013-\037' |
        sed 's/\\/\\\\/g; s/"/\\"/g' | awk '{ printf "%s%s", (NR > 1 ? "\\n" : ""), $0 }'
    printf '"'
}

# fail ends the task: fail KIND MESSAGE EXIT-STATUS [JSON], where JSON is pmcheck's output.
fail() {
    printf '{"_error": {"kind": "pmcheck/%s", "msg": %s, "details": {"exit_code": %d, "result": %s}}}\n' \
        "$1" "$(quote "$2")" "$3" "${4:-null}"
    exit "$3"
}

# try runs a command and sets $status, $out (stdout) and $err (stderr).
try() {
    errors=$(mktemp) || fail no-temporary-file 'no temporary file' 1
    status=0
    out=$("$@" 2>"$errors") || status=$?
    err=$(cat "$errors")
    rm -f "$errors"
}

# installed ends a task that needs pmcheck on a host without it.
installed() {
    command -v pmcheck >/dev/null || fail not-installed 'pmcheck is not installed on this host' 127
}

# run tries a pmcheck command.
run() {
    installed
    try pmcheck "$@"
}

# must runs a command and ends the task if it fails.
must() {
    run "$@"
    case $status in
        0) ;;
        2) fail usage "$err" 2 ;;
        6) fail timeout "$err" 6 ;;
        7) fail refused "$err" 7 ;;
        *) fail failed "$err" "$status" ;;
    esac
}

# said prints what the command that was run has written.
said() {
    printf '{"output": %s, "log": %s}\n' "$(quote "$out")" "$(quote "$err")"
}

# would prints what a task in noop mode does not do, and ends the task.
would() {
    installed
    printf '{"noop": true, "would": %s}\n' "$(quote "pmcheck $*")"
    exit 0
}

# change runs a command that changes holds, and prints what it has said.
change() {
    if [ "${PT__noop:-false}" = true ]; then
        would "$@"
    fi
    must "$@"
    said
}

# hold sets a hold in mode $1.
hold() {
    set -- "$1" "--hold=${PT_hold:-operator}"
    [ -z "${PT_service:-}" ] || set -- "$@" "--service=$PT_service"
    [ -z "${PT_reason:-}" ] || set -- "$@" "--reason=$PT_reason"
    [ -z "${PT_for:-}" ] || set -- "$@" "--for=$PT_for"
    [ "${PT_until_reboot:-false}" != true ] || set -- "$@" --until-reboot
    [ -z "${PT_wait:-}" ] || set -- "$@" --wait "--timeout=$PT_wait"
    [ "${PT_force:-false}" != true ] || set -- "$@" --force
    change "$@"
}
