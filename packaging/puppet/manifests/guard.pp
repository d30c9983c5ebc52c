# @summary Drains the master whenever Puppet Server is stopped or restarted.
#
# A guard starts with its server. Stopping a guard does not drain.
#
# @api private
class pmcheck::guard {
  assert_private()

  $ensure = $pmcheck::guard_enable ? {
    true    => undef,
    default => stopped,
  }

  $pmcheck::guard_services.each |$name| {
    service { "pmcheck-guard@${name}.service":
      ensure => $ensure,
      enable => $pmcheck::guard_enable,
    }
  }
}
