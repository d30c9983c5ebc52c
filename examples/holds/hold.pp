# @summary Holds this master as long as Hiera says so.
#
# For a hold that belongs to the configuration: a master that is being built, a site that is being
# closed. The command takes its turn; if it is refused, the run fails, and the next one tries again.
# Lifting the hold takes a Puppet run, which this master may have to serve: for an upgrade or a reboot
# use `pmcheck with-hold`, or the plan pmcheck::rolling.
#
# @param held
#   Whether Puppet holds the master. Holds of others stay as they are.
# @param mode
#   The mode: `drain` or `maint`.
# @param reason
#   The reason, shown by `pmcheck status`.
class profile::pmcheck_hold (
  Boolean                       $held   = false,
  Enum['drain', 'maint']        $mode   = 'drain',
  Pattern[/\A[^'[:cntrl:]]*\z/] $reason = 'held in Hiera, profile::pmcheck_hold::held',
) {
  $file = '/var/lib/pmcheck/holds/puppet.json'

  if $held {
    exec { 'pmcheck: hold':
      command  => "pmcheck ${mode} --hold=puppet --reason='${reason}'",
      unless   => "grep -q '\"mode\": *\"${mode}\"' ${file}",
      provider => shell,
      timeout  => 600, # it waits for its turn for 5 minutes
    }
  } else {
    exec { 'pmcheck: lift':
      command  => 'pmcheck ready --hold=puppet',
      onlyif   => "test -e ${file}",
      provider => shell,
    }
  }
}
