#!/bin/sh
# Moves port 9200 from the check that xinetd runs to pmcheck. The package has the script that does it.
. "$PT__installdir/pmcheck/files/task.sh"
script=/usr/share/doc/pmcheck/examples/migrate-from-xinetd/migrate.sh

if systemctl --quiet is-active pmcheck.socket; then
    printf '{"migrated": false, "output": "pmcheck has the port already"}\n'
    exit
fi
if [ "${PT__noop:-false}" = true ]; then
    printf '{"noop": true, "would": %s}\n' "$(quote "install ${PT_package:-pmcheck}, and run $script${PT_file:+ $PT_file}")"
    exit
fi

# Otherwise pmcheck would take the port as soon as xinetd is stopped, and the guard would wait for it.
must_do() {
    try "$@"
    [ "$status" = 0 ] || fail failed "$err" "$status" "{\"output\": $(quote "$out")}"
}
must_do systemctl mask pmcheck.socket pmcheck.service pmcheck-guard@puppetserver.service \
    pmcheck-guard@pe-puppetserver.service pmcheck-guard@puppet-master.service
if command -v apt-get >/dev/null; then
    must_do env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "${PT_package:-pmcheck}"
else
    must_do dnf install -y -q "${PT_package:-pmcheck}"
fi
must_do sh "$script" ${PT_file:+"$PT_file"} </dev/null
printf '{"migrated": true, "output": %s, "log": %s}\n' "$(quote "$out")" "$(quote "$err")"
