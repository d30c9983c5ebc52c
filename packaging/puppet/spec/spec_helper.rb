# frozen_string_literal: true

begin
  require 'voxpupuli/test/spec_helper'
rescue LoadError # Debian has rspec-puppet alone. MODULE_PATH has this module, as `pmcheck`, and those it needs.
  require 'rspec-puppet'

  RSpec.configure do |config|
    config.module_path = ENV.fetch('MODULE_PATH')
    config.strict_variables = true
  end
end

# The facts of a host, as far as the module and those it uses ask for them.
def facts_of(family, name, release)
  {
    os: { 'family' => family, 'name' => name, 'release' => { 'full' => release, 'major' => release.split('.').first },
          'selinux' => { 'enabled' => false }, },
    osfamily: family, operatingsystem: name, operatingsystemrelease: release,
    networking: { 'fqdn' => 'puppet1.example.com', 'hostname' => 'puppet1', 'ip' => '192.0.2.11' },
    hostname: 'puppet1', ipaddress: '192.0.2.11', fqdn: 'puppet1.example.com',
    kernel: 'Linux', selinux: false, path: '/usr/bin:/bin', service_provider: 'systemd',
  }
end

DEBIAN = facts_of('Debian', 'Debian', '12')
REDHAT = facts_of('RedHat', 'RedHat', '9.4')

# The public key of a repository.
KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEaQ==\n-----END PGP PUBLIC KEY BLOCK-----\n"

# The type yumrepo, as a definition. Debian does not have puppetlabs/yumrepo_core; where it is installed it comes first.
YUMREPO = <<~PUPPET
  define yumrepo (
    Enum['present', 'absent'] $ensure, String $descr, String $baseurl, String $enabled, String $gpgcheck, String $gpgkey,
  ) { }
PUPPET
