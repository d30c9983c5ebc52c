# @summary Configures the repository in which the package is.
#
# The files are plain, so that neither puppetlabs/apt nor puppetlabs/yumrepo_core is needed.
#
# @api private
class pmcheck::repository {
  assert_private()

  $url = $pmcheck::package_repository
  $key = $pmcheck::package_repository_key

  if $key =~ Undef {
    fail('pmcheck::package_repository_key is needed with pmcheck::package_repository: what is installed as root must be signed')
  }

  $notice = '# Managed by Puppet, class pmcheck.'

  case $facts['os']['family'] {
    'Debian': {
      $keyring = '/usr/share/keyrings/pmcheck.asc'
      $list    = '/etc/apt/sources.list.d/pmcheck.sources'
      $suite   = $pmcheck::package_repository_suite

      # A suite that ends with a slash has no components.
      $components = $suite ? {
        /\/\z/  => '',
        default => "Components: main\n",
      }
      $content = "${notice}\nTypes: deb\nURIs: ${url}\nSuites: ${suite}\n${components}Signed-By: ${keyring}\n"

      exec { 'pmcheck: apt-get update':
        command     => '/usr/bin/apt-get update',
        refreshonly => true,
        subscribe   => File[$list],
      }
    }
    'RedHat': {
      $keyring = '/etc/pki/rpm-gpg/RPM-GPG-KEY-pmcheck'
      $list    = '/etc/yum.repos.d/pmcheck.repo'
      $content = "${notice}\n[pmcheck]\nname=pmcheck\nbaseurl=${url}\nenabled=1\ngpgcheck=1\ngpgkey=file://${keyring}\n"
    }
    default: {
      fail("pmcheck::package_repository: the family ${facts['os']['family']} has neither apt nor yum")
    }
  }

  file {
    default:
      ensure => file,
      owner  => 'root',
      group  => 'root',
      mode   => '0644';
    $keyring:
      content => $key;
    $list:
      content => $content,
      require => File[$keyring];
  }
}
