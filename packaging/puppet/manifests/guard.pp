# @summary Drains the master whenever Puppet Server is stopped, restarted or reloaded.
#
# A guard starts with its server, or now, if the server runs already: otherwise the next
# stop would not be guarded. Stopping a guard does not drain. The guard starts and stops
# the units that drain before a reload.
#
# @api private
class pmcheck::guard {
  assert_private()

  $ensure = $pmcheck::guard_enable ? {
    true    => undef,
    default => stopped,
  }

  $pmcheck::guard_services.each |$name| {
    $guard = "pmcheck-guard@${name}.service"

    service { $guard:
      ensure => $ensure,
      enable => $pmcheck::guard_enable,
    }

    # Not "ensure => running": a guard without its server would lift its hold.
    if $pmcheck::guard_enable {
      exec { "pmcheck: start the guard of ${name}":
        command  => "/bin/systemctl --no-block start ${guard}",
        provider => shell,
        onlyif   => [
          "/bin/systemctl --quiet is-active ${name}.service",
          "/bin/systemctl is-active ${guard} | /bin/grep -Eqx 'inactive|failed'",
        ],
        require  => Service[$guard],
      }
    }
  }
}
