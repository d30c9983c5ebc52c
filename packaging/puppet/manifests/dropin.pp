# @summary Notes in a drop-in with which settings a unit has to be started.
#
# Without any there is no drop-in.
#
# @param settings
#   The settings. Of these systemd itself needs to know `listen` only.
#
# @api private
define pmcheck::dropin (
  Pmcheck::Settings $settings,
) {
  assert_private()

  $directory = "/etc/systemd/system/${title}.d"
  $ensure    = empty($settings) ? {
    true    => absent,
    default => file,
  }

  if $ensure == file {
    file { $directory:
      ensure => directory,
      owner  => 'root',
      group  => 'root',
      mode   => '0755',
    }
  }

  file { "${directory}/puppet.conf":
    ensure  => $ensure,
    owner   => 'root',
    group   => 'root',
    mode    => '0644',
    content => epp('pmcheck/dropin.conf.epp', { 'settings' => $settings }),
  }
}
