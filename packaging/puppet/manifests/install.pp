# @summary Installs the package, from a repository or from a file.
#
# @api private
class pmcheck::install {
  assert_private()

  $source = $pmcheck::package_source

  if $pmcheck::package_repository and $source {
    fail('pmcheck::package_repository and pmcheck::package_source exclude each other: the package comes from one of them')
  }
  if $pmcheck::package_sha256 and $source =~ Variant[Undef, Stdlib::Absolutepath] {
    fail('pmcheck::package_sha256 is for a URL in pmcheck::package_source; a file or repository of the host is not verified with it')
  }
  if $source =~ Pattern[/\A(?i:http):/] and $pmcheck::package_sha256 =~ Undef {
    fail('pmcheck::package_sha256 is needed with http in pmcheck::package_source: http does not prove who sent the package')
  }

  # Before the package, because a DEB starts the daemon. The hold is like that of any other holder.
  if $pmcheck::hold_new_host {
    $holds = '/var/lib/pmcheck/holds'

    exec { 'pmcheck: hold a new host':
      command  => "install -d -m 0755 ${holds} && echo '{\"mode\": \"maint\", \"reason\": \"new host\"}' >${holds}/new-host.json",
      creates  => '/usr/bin/pmcheck',
      path     => ['/usr/bin', '/bin'],
      provider => shell,
      umask    => '0022',
      before   => Package[$pmcheck::package_name],
    }
  }

  if $source =~ Undef {
    if $pmcheck::package_repository {
      contain pmcheck::repository

      Class['pmcheck::repository'] -> Package[$pmcheck::package_name]
    }

    package { $pmcheck::package_name:
      ensure => $pmcheck::package_ensure,
    }
  } else {
    if $source =~ Stdlib::Absolutepath {
      $file = $source
    } else {
      $cache = '/var/cache/pmcheck'
      $file  = "${cache}/${basename($source)}"

      file { $cache:
        ensure => directory,
        owner  => 'root',
        group  => 'root',
        mode   => '0755',
      }

      $checksum = $pmcheck::package_sha256 ? {
        undef   => {},
        default => { 'checksum' => 'sha256', 'checksum_value' => $pmcheck::package_sha256 },
      }

      file { $file:
        ensure => file,
        owner  => 'root',
        group  => 'root',
        mode   => '0644',
        source => $source,
        before => Package[$pmcheck::package_name],
        *      => $checksum,
      }
    }

    # For these two providers, "latest" is the version in the file.
    package { $pmcheck::package_name:
      ensure   => 'latest',
      provider => $pmcheck::file_provider,
      source   => $file,
    }
  }
}
