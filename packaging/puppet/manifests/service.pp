# @summary Runs the daemon and reloads it after a change of its configuration.
#
# A reload is enough for every setting but listen: a change of the port closes the old one. None of
# this touches the hold files. A reload fails as long as the host has no certificate; a daemon that
# starts waits for one.
#
# @api private
class pmcheck::service {
  assert_private()

  # Stopping the service stops its sockets.
  exec { 'pmcheck: let go of the old sockets':
    command     => '/bin/systemctl daemon-reload && /bin/systemctl stop pmcheck.service',
    provider    => shell,
    refreshonly => true,
    subscribe   => Pmcheck::Dropin['pmcheck.socket'],
  }

  -> service { ['pmcheck.socket', 'pmcheck-status.socket']:
    ensure => $pmcheck::service_ensure,
    enable => $pmcheck::service_enable,
  }

  -> service { 'pmcheck.service':
    ensure    => $pmcheck::service_ensure,
    enable    => $pmcheck::service_enable,
    restart   => '/bin/systemctl reload pmcheck.service || /bin/systemctl try-restart pmcheck.service',
    subscribe => File['/etc/pmcheck/pmcheck.yaml'],
  }
}
