# @summary Holds this master as long as Hiera says so.
#
# For a hold that belongs to the configuration: a master that is being built, a site
# that is being closed. It is independent of other holds. An operator's hold is
# operator.json, which Puppet must never manage: its next run would end a maintenance.
#
# Lifting it takes a Puppet run, which this master may have to serve. For an upgrade or
# a reboot use `pmcheck drain`, or the plan pmcheck::rolling.
#
# @param held
#   Whether Puppet holds the master.
# @param mode
#   The mode: `drain` or `maint`.
# @param reason
#   The reason, shown by `pmcheck status`.
# @param directory
#   The directory of the hold files.
class profile::pmcheck_hold (
  Boolean                         $held      = false,
  Enum['drain', 'maint']          $mode      = 'drain',
  Pattern[/\A[^"\\[:cntrl:]]*\z/] $reason    = 'held in Hiera, profile::pmcheck_hold::held',
  String[1]                       $directory = '/var/lib/pmcheck/holds',
) {
  $ensure = $held ? {
    true    => file,
    default => absent,
  }

  file { "${directory}/puppet.json":
    ensure  => $ensure,
    owner   => 'root',
    group   => 'root',
    mode    => '0644',
    content => "{\"mode\": \"${mode}\", \"reason\": \"${reason}\"}\n",
    backup  => false,
  }
}
