# @summary Tells a load balancer whether the Puppet Server on this host should get agents now.
#
# Installs, configures and runs pmcheck. No parameter is required if Puppet Server uses
# its default paths: pmcheck reads puppet.conf.
#
# Holds are not resources, and no Puppet run sets or lifts one: a drained master stays
# drained.
#
# @example On a master
#   include pmcheck
#
# @example In Hiera
#   pmcheck::allow:
#     - 192.0.2.0/28
#   pmcheck::probe:
#     interval: 5s
#     timeout: 2s
#
# @example A package that is in no repository
#   class { 'pmcheck':
#     package_source => 'https://packages.example.com/pmcheck_1.2.3_amd64.deb',
#     package_sha256 => '7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730',
#   }
#
# @example Removed, but for its holds
#   class { 'pmcheck':
#     ensure => 'absent',
#   }
#
# @param ensure
#   Whether pmcheck is there. Before `absent`, take the master out of the balancer: port 9200 closes.
# @param package_name
#   The name of the package.
# @param package_ensure
#   `installed`, `latest` or a version. With `package_source` it is always the
#   version of that file.
# @param package_source
#   The file to install if the package is in no repository: a path on the host, or a URL
#   (`https`, `http`, `puppet`, `file`).
# @param package_sha256
#   The SHA-256 checksum of the package. Only with a URL in `package_source`; required with `http`.
# @param package_repository
#   The URL of an apt or yum repository with the package, to configure on the host. By
#   default the package comes from the repositories that the host has. Not with `package_source`. It needs
#   puppetlabs/apt or puppetlabs/yumrepo_core.
# @param package_repository_key
#   The public key, in ASCII armour, that the repository (apt) or its packages (yum) are
#   signed with. Required with `package_repository`.
# @param package_repository_suite
#   With apt, the suite, whose component is `main`. A repository without suites has `./`.
# @param file_provider
#   The provider that installs `package_source`. From the data of this module.
# @param service_ensure
#   Whether the daemon runs. Do not stop it to take a master out: use `pmcheck drain`.
# @param service_enable
#   Whether the daemon starts at boot.
# @param guard_enable
#   Whether a stop or restart of Puppet Server drains the master first and makes it ready
#   afterwards.
# @param guard_services
#   The systemd names of the guarded services. From the data of this module:
#   `puppetserver`, `pe-puppetserver` and `puppet-master`.
# @param gate_enable
#   Whether new connections to Puppet's port are refused while the master is held, for
#   agents that no balancer sends elsewhere.
# @param hold_new_host
#   Whether a host on which pmcheck is not installed yet is held, as `maint` by `new-host`, until
#   `pmcheck ready --hold new-host`. The hold is set before the package is installed, and never again.
# @param listen
#   Where the daemon answers balancers.
# @param allow
#   The networks that may connect. Loopback is not exempt.
# @param status_allow
#   The networks that may read `/status`, besides loopback.
# @param balancers
#   The networks of the balancers. Clients elsewhere are not waited for.
# @param services
#   More services of the master's Status API, each on its own path.
# @param fleet
#   The masters of the pool, the same list on each: for `pmcheck status --fleet`, and
#   to ask them whether this one may leave, where no balancer sends its view and no budget counts.
# @param max_out
#   How many masters of the pool may be out at one time: a number, or a percentage as a string.
# @param puppet
#   Where puppet.conf is.
# @param probe
#   How the master is probed.
# @param checks
#   What each check besides the probe may do.
# @param jruby
#   The thresholds of the JRuby pool.
# @param unit
#   The master's systemd unit.
# @param expiry
#   How long before certificates and CRLs expire the check warns.
# @param disk
#   The directories and thresholds of the disk check.
# @param code
#   The directory of the deployed environments.
# @param puppetdb
#   The master's PuppetDB.
# @param guard
#   How long the guard may wait before a stop and after a start.
# @param gate
#   Whose connections the gate never refuses.
# @param budget
#   The database that counts the masters of the pool that are out. Without `database` balancers do.
# @param log
#   How the daemon logs.
# @param settings
#   More settings, merged over those above, for settings that this version of the module
#   does not know. pmcheck validates them before the file is written. A setting
#   that has a parameter of its own is refused here; in a section all are allowed.
class pmcheck (
  Array[Pattern[/\A[A-Za-z0-9._-]+\z/]]            $guard_services,
  Enum['present', 'absent']                        $ensure                   = 'present',
  String[1]                                        $package_name             = 'pmcheck',
  String[1]                                        $package_ensure           = 'installed',
  Optional[Stdlib::Filesource]                     $package_source           = undef,
  Optional[Pattern[/\A[0-9a-f]{64}\z/]]            $package_sha256           = undef,
  Optional[Stdlib::HTTPUrl]                        $package_repository       = undef,
  Optional[Pattern[/\A-----BEGIN PGP PUBLIC KEY/]] $package_repository_key   = undef,
  Pattern[/\A[A-Za-z0-9.\/_-]+\z/]                 $package_repository_suite = './',
  Optional[Enum['dpkg', 'rpm']]                    $file_provider            = undef,
  Stdlib::Ensure::Service                          $service_ensure           = 'running',
  Boolean                                          $service_enable           = true,
  Boolean                                          $guard_enable             = true,
  Boolean                                          $gate_enable              = false,
  Boolean                                          $hold_new_host            = false,
  Optional[Pmcheck::Listen]                        $listen                   = undef,
  Optional[Array[Stdlib::IP::Address, 1]]          $allow                    = undef,
  Optional[Array[Stdlib::IP::Address]]             $status_allow             = undef,
  Optional[Array[Stdlib::IP::Address]]             $balancers                = undef,
  Optional[Array[Pmcheck::Service]]                $services                 = undef,
  Optional[Array[Pmcheck::Master]]                 $fleet                    = undef,
  Optional[Pmcheck::Max_out]                       $max_out                  = undef,
  Pmcheck::Puppet                                  $puppet                   = {},
  Pmcheck::Probe                                   $probe                    = {},
  Pmcheck::Checks                                  $checks                   = {},
  Pmcheck::Jruby                                   $jruby                    = {},
  Pmcheck::Unit                                    $unit                     = {},
  Pmcheck::Expiry                                  $expiry                   = {},
  Pmcheck::Disk                                    $disk                     = {},
  Pmcheck::Code                                    $code                     = {},
  Pmcheck::Puppetdb                                $puppetdb                 = {},
  Pmcheck::Guard                                   $guard                    = {},
  Pmcheck::Gate                                    $gate                     = {},
  Pmcheck::Budget                                  $budget                   = {},
  Pmcheck::Log                                     $log                      = {},
  Pmcheck::Settings                                $settings                 = {},
) {
  unless $facts['os']['family'] in ['Debian', 'RedHat'] {
    fail("pmcheck is not supported on ${facts['os']['name']}: there are packages for the families Debian and RedHat only")
  }

  if $ensure == 'absent' {
    contain pmcheck::remove
  } else {
    contain pmcheck::port
    contain pmcheck::install
    contain pmcheck::config
    contain pmcheck::service
    contain pmcheck::gate
    contain pmcheck::guard

    Class['pmcheck::port']
    -> Class['pmcheck::install']
    -> Class['pmcheck::config']
    -> Class['pmcheck::service']
    -> Class['pmcheck::gate']
    -> Class['pmcheck::guard']
  }
}
