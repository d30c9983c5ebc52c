# @summary Removes the package and what this module has written. Holds stay, and so does the user.
#
# @api private
class pmcheck::remove {
  assert_private()

  # The package does not know the guards of other services than its own. Stopping one does not drain.
  $guards = $pmcheck::guard_services.map |$name| { "pmcheck-guard@${name}.service" }

  service { $guards:
    ensure => stopped,
    enable => false,
  }

  -> package { $pmcheck::package_name:
    ensure => absent,
  }

  -> file { ['/etc/systemd/system/pmcheck.socket.d/puppet.conf', '/etc/systemd/system/pmcheck-gate.service.d/puppet.conf']:
    ensure => absent,
  }

  -> file { '/etc/pmcheck/pmcheck.yaml':
    ensure => absent,
  }

  if $pmcheck::package_repository {
    contain pmcheck::repository
  }
}
