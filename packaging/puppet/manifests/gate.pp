# @summary Refuses new connections to Puppet's port while the master is held.
#
# A restart opens the port for a moment, so only a change of the gate's own settings
# causes one.
#
# @api private
class pmcheck::gate {
  assert_private()

  $ensure = $pmcheck::gate_enable ? {
    true    => running,
    default => stopped,
  }
  $settings = $pmcheck::config::settings

  pmcheck::dropin { 'pmcheck-gate.service':
    content => join(['gate', 'fleet', 'puppet', 'probe', 'log'].map |$name| {
        $name in $settings ? {
          true    => "#   ${name}: ${pmcheck::yaml($settings[$name])}\n",
          default => '',
        }
    }),
  }

  -> service { 'pmcheck-gate.service':
    ensure => $ensure,
    enable => $pmcheck::gate_enable,
  }

  exec { 'pmcheck: restart the gate':
    command     => '/bin/systemctl daemon-reload && /bin/systemctl try-restart pmcheck-gate.service',
    provider    => shell,
    refreshonly => true,
    subscribe   => Pmcheck::Dropin['pmcheck-gate.service'],
    require     => File['/etc/pmcheck/pmcheck.yaml'],
    before      => Service['pmcheck-gate.service'],
  }
}
