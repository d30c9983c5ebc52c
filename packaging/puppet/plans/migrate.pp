# @summary Moves masters from the check that xinetd runs to pmcheck, one at a time.
#
# On each master in turn: install the package, move the port, and wait until pmcheck answers 200. No balancer
# takes a master DOWN meanwhile. A master that pmcheck serves already is left as it is.
#
# The plan ends at the first failure: xinetd has the port of that master back, and the other masters are not
# touched. Afterwards, remove the old check from Puppet, and add `include pmcheck`.
#
# @example
#   bolt plan run pmcheck::migrate targets=masters
#
# @param targets
#   The masters.
# @param package
#   The package: its name in a repository of the masters, or the path of a file on each.
# @param file
#   The file that describes the old check; without it, the one in /etc/xinetd.d with port = 9200.
# @return
#   The result of `pmcheck::status` for each master at the end.
plan pmcheck::migrate (
  TargetSpec                     $targets,
  String[1]                      $package = 'pmcheck',
  Optional[Stdlib::Absolutepath] $file    = undef,
) {
  $masters = get_targets($targets)
  $only = $file ? {
    undef   => {},
    default => { 'file' => $file },
  }

  $masters.each |$master| {
    run_task('pmcheck::migrate', $master, 'Move the port to pmcheck', $only + { 'package' => $package })
    run_task('pmcheck::wait', $master, 'Wait until pmcheck answers 200', { 'for' => 'ready', 'timeout' => '1m' })
  }

  return run_task('pmcheck::status', $masters)
}
