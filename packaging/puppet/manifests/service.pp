# @summary Keeps the daemon running, and has it read a new configuration.
#
# A reload is enough for most settings, and forgets nothing. Some need a restart:
# systemd holds the port meanwhile, so that no balancer is refused. Only another
# port closes the old one. The holds are files, which none of this touches.
#
# @api private
class pmcheck::service {
  assert_private()

  exec { 'pmcheck: let go of the old port':
    command     => '/bin/systemctl daemon-reload && /bin/systemctl stop pmcheck.socket pmcheck.service',
    provider    => shell,
    refreshonly => true,
    subscribe   => Pmcheck::Dropin['pmcheck.socket'],
  }

  -> service { 'pmcheck.socket':
    ensure => $pmcheck::service_ensure,
    enable => $pmcheck::service_enable,
  }

  -> service { 'pmcheck.service':
    ensure    => $pmcheck::service_ensure,
    enable    => $pmcheck::service_enable,
    restart   => '/bin/systemctl reload pmcheck.service',
    subscribe => File['/etc/pmcheck/pmcheck.yaml'],
  }

  -> exec { 'pmcheck: restart':
    command     => '/bin/systemctl daemon-reload && /bin/systemctl try-restart pmcheck.service',
    provider    => shell,
    refreshonly => true,
    subscribe   => Pmcheck::Dropin['pmcheck.service'],
  }
}
