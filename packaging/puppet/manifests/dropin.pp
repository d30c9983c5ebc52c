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

  # puppet/systemd declares the directory. So does each drop-in of the site's own.
  if $content == '' {
    file { "/etc/systemd/system/${title}.d/puppet.conf":
      ensure => absent,
    }
  } else {
    systemd::dropin_file { "pmcheck: ${title}":
      unit     => $title,
      filename => 'puppet.conf',
      mode     => '0644',
      content  => "# Managed by Puppet, from the settings in /etc/pmcheck/pmcheck.yaml.\n${content}",
    }
  }
}
