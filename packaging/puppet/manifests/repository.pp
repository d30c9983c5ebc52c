# @summary Configures the repository in which the package is.
#
# It needs puppetlabs/apt or puppetlabs/yumrepo_core, the modules for each kind of repository.
#
# @api private
class pmcheck::repository {
  assert_private()

  $url = $pmcheck::package_repository
  $key = $pmcheck::package_repository_key

  if $key =~ Undef {
    fail('pmcheck::package_repository_key is needed with pmcheck::package_repository: what is installed as root must be signed')
  }

  $file = $pmcheck::ensure ? {
    'absent' => absent,
    default  => file,
  }

  # On Debian the keyring of install.md, so that a host has one.
  case $facts['os']['family'] {
    'Debian': {
      $keyring = '/etc/apt/keyrings/pmcheck.asc'
      $suite   = $pmcheck::package_repository_suite

      # A suite that ends with a slash has no components.
      $components = $suite ? {
        /\/\z/  => '',
        default => 'main',
      }

      apt::source { 'pmcheck':
        ensure   => $pmcheck::ensure,
        comment  => 'Managed by Puppet, class pmcheck.',
        location => $url,
        release  => $suite,
        repos    => $components,
        keyring  => $keyring,
        require  => File[$keyring],
      }

      if $pmcheck::ensure == 'present' {
        Class['apt::update'] -> Package[$pmcheck::package_name]
      }
    }
    default: {
      $keyring = '/etc/pki/rpm-gpg/RPM-GPG-KEY-pmcheck'

      yumrepo { 'pmcheck':
        ensure   => $pmcheck::ensure,
        descr    => 'pmcheck',
        baseurl  => $url,
        enabled  => '1',
        gpgcheck => '1',
        gpgkey   => "file://${keyring}",
        require  => File[$keyring],
      }
    }
  }

  file { $keyring:
    ensure  => $file,
    owner   => 'root',
    group   => 'root',
    mode    => '0644',
    content => $key,
  }
}
