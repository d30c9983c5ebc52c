# @summary Tells a load balancer whether the Puppet Server on this host should get agents now.
#
# Installs pmcheck, keeps it running and configures it. Nothing has to be set
# where Puppet Server has its usual place: pmcheck reads puppet.conf.
#
# No hold is a resource, and no Puppet run begins or ends one: a master that
# somebody has drained stays drained.
#
# @example All there is to do on a master
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
# @param package_name
#   The package.
# @param package_ensure
#   `installed`, `latest` or a version. With `package_source` it is always the
#   version of that file.
# @param package_source
#   Where the package is, if in no repository: a path on the host, or a URL
#   (`https`, `http`, `puppet`, `file`) it is fetched from.
# @param package_sha256
#   What the fetched package must have as its SHA-256. Only with a URL.
# @param file_provider
#   What installs the package of `package_source`. From the data of this module.
# @param service_ensure
#   Whether the daemon is to run. To take a master out, do not stop it: use
#   `pmcheck drain`.
# @param service_enable
#   Whether the daemon is to run after a boot.
# @param guard
#   Whether a stop or restart of Puppet Server, by whomever, drains the master
#   first and makes it ready afterwards.
# @param guard_services
#   The services that are guarded so, by their systemd names. From the data of
#   this module: `puppetserver` and `pe-puppetserver`.
# @param listen
#   Where balancers ask.
# @param allow
#   The networks that may ask at all.
# @param status_allow
#   The networks that may read `/status`, besides loopback.
# @param balancers
#   The networks whose balancers are believed when they tell what they make of
#   this master.
# @param max_connections
#   How many connections may be open at one time.
# @param tls
#   Whether balancers ask over TLS, and which certificate they are shown.
# @param tls_certificate
#   The certificate, with `tls` `files`.
# @param tls_key
#   Its key, with `tls` `files`.
# @param tls_client_ca
#   The CA whose certificates balancers must show, with `tls` `files`.
# @param socket
#   The socket on which the `pmcheck` command reads what the daemon knows.
# @param initial_mode
#   The mode of a host on which nobody has ever set one.
# @param services
#   Further services of the master's Status API, each with a path of its own.
# @param tcp_services
#   Services that are only connected to.
# @param fleet
#   The masters of the pool, for `pmcheck status --fleet` and `pmcheck haproxy`.
# @param holds
#   Where the hold files are.
# @param puppet
#   Where Puppet's own configuration is.
# @param probe
#   How the master is asked.
# @param checks
#   What each check beside the probe may do.
# @param jruby
#   How the pool of JRuby instances is judged.
# @param unit
#   The master's unit in systemd.
# @param expiry
#   How long before their end certificates and CRLs are warned of.
# @param disk
#   How free space is judged.
# @param code
#   Where the deployed environments are.
# @param puppetdb
#   Where the master's PuppetDB answers.
# @param compile
#   How the deep check compiles a catalog.
# @param agent
#   How HAProxy's agent-checks are answered. Without `listen` they are not.
# @param log
#   How the daemon logs.
# @param settings
#   Further settings, merged over those above: for what pmcheck knows and this
#   version of the module does not. pmcheck itself checks them, before the file
#   is put in place.
class pmcheck (
  Array[Pattern[/\A[A-Za-z0-9._-]+\z/]]             $guard_services,
  String[1]                                         $package_name    = 'pmcheck',
  String[1]                                         $package_ensure  = 'installed',
  Optional[Stdlib::Filesource]                      $package_source  = undef,
  Optional[Pattern[/\A[0-9a-f]{64}\z/]]             $package_sha256  = undef,
  Optional[Enum['dpkg', 'rpm']]                     $file_provider   = undef,
  Stdlib::Ensure::Service                           $service_ensure  = 'running',
  Boolean                                           $service_enable  = true,
  Boolean                                           $guard           = true,
  Optional[Pmcheck::Listen]                         $listen          = undef,
  Optional[Array[Stdlib::IP::Address, 1]]           $allow           = undef,
  Optional[Array[Stdlib::IP::Address]]              $status_allow    = undef,
  Optional[Array[Stdlib::IP::Address]]              $balancers       = undef,
  Optional[Integer[1, 65536]]                       $max_connections = undef,
  Optional[Pmcheck::Tls]                            $tls             = undef,
  Optional[Stdlib::Absolutepath]                    $tls_certificate = undef,
  Optional[Stdlib::Absolutepath]                    $tls_key         = undef,
  Optional[Stdlib::Absolutepath]                    $tls_client_ca   = undef,
  Optional[Stdlib::Absolutepath]                    $socket          = undef,
  Optional[Pmcheck::Mode]                           $initial_mode    = undef,
  Optional[Array[Pmcheck::Service]]                 $services        = undef,
  Optional[Array[Pmcheck::Tcpservice]]              $tcp_services    = undef,
  Optional[Array[Pmcheck::Master]]                  $fleet           = undef,
  Pmcheck::Holds                                    $holds           = {},
  Pmcheck::Puppet                                   $puppet          = {},
  Pmcheck::Probe                                    $probe           = {},
  Pmcheck::Checks                                   $checks          = {},
  Pmcheck::Jruby                                    $jruby           = {},
  Pmcheck::Unit                                     $unit            = {},
  Pmcheck::Expiry                                   $expiry          = {},
  Pmcheck::Disk                                     $disk            = {},
  Pmcheck::Code                                     $code            = {},
  Pmcheck::Puppetdb                                 $puppetdb        = {},
  Pmcheck::Compile                                  $compile         = {},
  Pmcheck::Agent                                    $agent           = {},
  Pmcheck::Log                                      $log             = {},
  Pmcheck::Settings                                 $settings        = {},
) {
  contain pmcheck::install
  contain pmcheck::config
  contain pmcheck::service
  contain pmcheck::guard

  Class['pmcheck::install']
  -> Class['pmcheck::config']
  -> Class['pmcheck::service']
  -> Class['pmcheck::guard']
}
