# @summary A drop-in of a unit, with the settings that need a restart of it.
#
# @param content
#   The content. If it is empty, there is no drop-in.
#
# @api private
define pmcheck::dropin (
  String $content,
) {
  assert_private()

  $directory = "/etc/systemd/system/${title}.d"

  if $content == '' {
    $ensure = absent
  } else {
    $ensure = file

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
    content => "# Managed by Puppet, from the settings in /etc/pmcheck/pmcheck.yaml.\n${content}",
  }
}
