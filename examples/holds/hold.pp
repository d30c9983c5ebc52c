# @summary Holds this master for as long as Puppet's data say so.
#
# For a hold that belongs to a state of the configuration: a master that is being
# built, a site that is to be closed. It has a file of its own and says nothing
# about the others: an operator's hold is operator.json, which Puppet must never
# manage, or its next run would end what a person has begun.
#
# A Puppet run is needed to lift it again, and this master may be the one to serve
# it. For an upgrade or a reboot use `pmcheck drain`, or the plan pmcheck::rolling.
#
# @param held
#   Whether Puppet holds the master.
# @param mode
#   What it wants: no new agents, or none at all.
# @param reason
#   Why, for those who will ask.
# @param directory
#   Where the hold files are.
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
