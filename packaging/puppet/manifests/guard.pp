# @summary Has the master drained whenever Puppet Server is stopped or restarted.
#
# @api private
class pmcheck::guard {
  assert_private()

  $pmcheck::guard_services.each |$name| {
    service { "pmcheck-guard@${name}.service":
      enable => $pmcheck::guard,
    }
  }
}
