# @summary Keeps the daemon running, and has it read a new configuration.
#
# A reload is enough for most settings, and forgets nothing. Some need a restart:
# systemd holds the port meanwhile, so that no balancer is refused. Only another
# port closes the old one. The holds are files, which none of this touches.
#
# @api private
class pmcheck::service {
  assert_private()

  $sockets = ['pmcheck.socket', 'pmcheck-status.socket']

  # Only with agent.listen is there a port for HAProxy's agent-check.
  if $pmcheck::config::streams['pmcheck-agent.socket'] == '' {
    $agent_ensure = stopped
    $agent_enable = false
  } else {
    $agent_ensure = $pmcheck::service_ensure
    $agent_enable = $pmcheck::service_enable
  }

  # To stop the service stops its sockets.
  exec { 'pmcheck: let go of the old sockets':
    command     => '/bin/systemctl daemon-reload && /bin/systemctl stop pmcheck.service',
    provider    => shell,
    refreshonly => true,
    subscribe   => Pmcheck::Dropin[keys($pmcheck::config::streams)],
  }

  -> service {
    $sockets:
      ensure => $pmcheck::service_ensure,
      enable => $pmcheck::service_enable;
    'pmcheck-agent.socket':
      ensure => $agent_ensure,
      enable => $agent_enable;
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
