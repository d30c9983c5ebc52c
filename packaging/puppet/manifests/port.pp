# @summary Fails, before anything is changed, while another program has the port.
#
# @api private
class pmcheck::port {
  assert_private()

  $port = regsubst(String(pick($pmcheck::listen, 9200)), '\A.*:', '')
  $listeners = "ss -Hltnp 'sport = :${port}' | grep users: | grep -v -e '\"pmcheck\"' -e '\"systemd\"'"
  $says = "pmcheck: another program listens on port ${port}, so nothing is changed. If it is the check that xinetd runs"

  exec { 'pmcheck: is the port taken by another program?':
    command  => "${listeners}; echo '${says}, use the plan pmcheck::migrate first.'; exit 1",
    onlyif   => "${listeners} | grep -q .",
    path     => ['/usr/sbin', '/usr/bin', '/sbin', '/bin'],
    provider => shell,
  }
}
