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
  $filename  = 'puppet.conf'
  $text      = "# Managed by Puppet, from the settings in /etc/pmcheck/pmcheck.yaml.\n${content}"

  if $content == '' {
    file { "${directory}/${filename}":
      ensure => absent,
    }
  } elsif pick($pmcheck::systemd_dropins, defined('systemd::dropin_file')) {
    # puppet/systemd declares the directory. So does each drop-in of the site's own, which a
    # directory declared here would collide with.
    systemd::dropin_file { "pmcheck: ${title}":
      unit     => $title,
      filename => $filename,
      mode     => '0644',
      content  => $text,
    }
  } else {
    file {
      default:
        owner => 'root',
        group => 'root';
      $directory:
        ensure => directory,
        mode   => '0755';
      "${directory}/${filename}":
        ensure  => file,
        mode    => '0644',
        content => $text;
    }
  }
}
