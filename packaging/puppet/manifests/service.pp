# @summary Runs the daemon and reloads it after a change of its configuration.
#
# A reload is enough for most settings. Some need a restart: systemd keeps the port open
# meanwhile, so that no balancer is refused. Only a change of the port closes the old one.
# None of this touches the hold files.
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
    restart   => '/bin/systemctl reload pmcheck.service',
    subscribe => File['/etc/pmcheck/pmcheck.yaml'],
  }

  -> exec { 'pmcheck: restart':
    command     => '/bin/systemctl daemon-reload && /bin/systemctl try-restart pmcheck.service',
    provider    => shell,
    refreshonly => true,
    subscribe   => Pmcheck::Dropin['pmcheck.service'],
  }

  # A reload that fails, as with a key that the daemon cannot read, is not repeated, and the run
  # after the key was mended changes no file: so the daemon itself is asked what it uses. The
  # reload comes first, since it refuses what a restart would stumble over. A daemon that does
  # not run is left alone.
  $applied = '/usr/bin/pmcheck config --applied'
  $restart = '/bin/systemctl daemon-reload && /bin/systemctl try-restart pmcheck.service'
  exec { 'pmcheck: catch up with pmcheck.yaml':
    command  => "/bin/systemctl reload pmcheck.service && { ${applied} || { ${restart}; }; }",
    provider => shell,
    onlyif   => "${applied}; test $? -eq 1",
    require  => Exec['pmcheck: restart'],
  }
}
