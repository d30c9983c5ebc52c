# @summary PostgreSQL with the host's Puppet certificate.
#
# The files are copies: PostgreSQL cannot read Puppet's, and reads its own again only
# after a reload.
#
# @api private
class pmcheck::database::tls {
  assert_private()

  $puppet = pick($facts['pmcheck_tls'], {})
  $files  = {
    'ssl_cert_file' => [$pmcheck::database::tls_certificate, $puppet['certificate']],
    'ssl_key_file'  => [$pmcheck::database::tls_key, $puppet['key']],
    'ssl_ca_file'   => [$pmcheck::database::tls_ca, $puppet['ca']],
    'ssl_crl_file'  => [$pmcheck::database::tls_crl, $puppet['crl']],
  }

  $files.each |$setting, $sources| {
    $copy = "${pmcheck::database::directory}/${setting}.pem"

    # A diff would put the key into the report, and a backup into a filebucket.
    file { $copy:
      ensure    => file,
      owner     => 'root',
      group     => $postgresql::server::group,
      mode      => '0640',
      source    => pick(*$sources),
      links     => follow,
      show_diff => false,
      backup    => false,
      require   => Class['postgresql::server::install'],
      notify    => Class['postgresql::server::reload'],
    }

    postgresql::server::config_entry { $setting:
      value   => $copy,
      require => File[$copy],
    }
  }

  postgresql::server::config_entry { 'ssl':
    value   => 'on',
    require => File[$files.map |$setting, $_sources| { "${pmcheck::database::directory}/${setting}.pem" }],
  }
}
