# @summary The PostgreSQL database of the drain budget, normally on PuppetDB's host.
#
# Creates the database `pmcheck` with its schema and two roles without a password:
# `pmcheck` for masters, which log in with their Puppet certificate only, and
# `pmcheck_admin`, which owns it. The other databases of the server stay as they are.
#
# It needs the module puppetlabs/postgresql on the host of the server, whose class
# `postgresql::server` must be declared first if it has parameters. PostgreSQL must
# listen on an address that the masters reach.
#
# @example On the host of PuppetDB's PostgreSQL
#   class { 'postgresql::server':
#     listen_addresses => '*',
#   }
#   class { 'pmcheck::database':
#     masters => ['/puppet\d+\.example\.com/'],
#   }
#
# @example On the masters, in Hiera
#   pmcheck::budget:
#     database: postgresql://puppetdb.example.com/pmcheck
#
# @param masters
#   The masters that may take slots.
# @param allow
#   The networks from which they may connect.
# @param manage_tls
#   Whether to configure PostgreSQL's TLS. If something else does, its certificate must be
#   from Puppet's CA, and `ssl_ca_file` must have that CA.
# @param tls_certificate
#   The server's certificate, which must have the name in `budget.database`. By default it
#   is the host's Puppet certificate. This file and the next three are copied, and copied
#   again after a renewal.
# @param tls_key
#   Its key.
# @param tls_ca
#   The CA whose certificates may log in.
# @param tls_crl
#   The CRL of that CA. A revoked certificate cannot log in.
class pmcheck::database (
  Array[Pmcheck::Login, 1]       $masters,
  Array[Pmcheck::Network, 1]     $allow           = ['0.0.0.0/0', '::/0'],
  Boolean                        $manage_tls      = true,
  Optional[Stdlib::Absolutepath] $tls_certificate = undef,
  Optional[Stdlib::Absolutepath] $tls_key         = undef,
  Optional[Stdlib::Absolutepath] $tls_ca          = undef,
  Optional[Stdlib::Absolutepath] $tls_crl         = undef,
) {
  include postgresql::server

  $directory = '/etc/pmcheck-database'
  $schema    = file('pmcheck/schema.sql')

  # PostgreSQL accepts a key of root's that its group can read.
  file {
    default:
      owner   => 'root',
      group   => $postgresql::server::group,
      require => Class['postgresql::server::install'];
    $directory:
      ensure => directory,
      mode   => '0750';
    "${directory}/schema.sql":
      ensure  => file,
      mode    => '0640',
      content => $schema;
  }

  if $manage_tls {
    contain pmcheck::database::tls
  }

  # Otherwise roles come before the start of PostgreSQL, and puppetlabs/postgresql 6.7
  # reports them as created.
  # PuppetDB's server has a hundred places, and a master needs one for a moment.
  postgresql::server::role {
    default:
      require => Class['postgresql::server'];
    'pmcheck':
      connection_limit => '20';
    'pmcheck_admin':
      login => false;
  }

  -> postgresql::server::grant_role { 'pmcheck_admin is a member of pmcheck':
    role  => 'pmcheck_admin',
    group => 'pmcheck',
  }

  -> postgresql::server::database { 'pmcheck':
    owner => 'pmcheck_admin',
  }

  -> postgresql::server::database_grant { 'pmcheck connects to pmcheck':
    privilege => 'CONNECT',
    db        => 'pmcheck',
    role      => 'pmcheck',
  }

  # The first rule that matches decides, and one of the site's, which puppetlabs/postgresql
  # numbers from 10, may ask for a password.
  $allow.each |$network| {
    postgresql::server::pg_hba_rule { "pmcheck from ${network}":
      type        => 'hostssl',
      database    => 'pmcheck',
      user        => 'pmcheck',
      address     => $network,
      auth_method => 'cert',
      auth_option => 'map=pmcheck',
      order       => 5,
    }
  }

  $masters.unique.each |$login| {
    # PostgreSQL's regular expressions match a part of the name unless they are anchored.
    $certname = $login ? {
      /\A\/(.*)\/\z/ => "\"/^(?:${1})$\"",
      default        => $login,
    }
    postgresql::server::pg_ident_rule { "${login} is pmcheck":
      map_name          => 'pmcheck',
      system_username   => $certname,
      database_username => 'pmcheck',
    }
  }

  # The schema has a version. A newer one in the database stays.
  $version = $schema.match(/pmcheck\.version\(\) .* 'select (\d+)'/)[1]
  $psql    = "${postgresql::server::psql_path} -X -q -p ${postgresql::server::port} -d pmcheck"

  exec { 'pmcheck: schema':
    command  => "${psql} -v ON_ERROR_STOP=1 -f ${directory}/schema.sql",
    unless   => "test \"\$(${psql} -At -c 'select pmcheck.version()')\" -ge ${version}",
    provider => shell,
    user     => $postgresql::server::user,
    cwd      => '/',
    require  => [
      File["${directory}/schema.sql"],
      Postgresql::Server::Database['pmcheck'],
      Postgresql::Server::Grant_role['pmcheck_admin is a member of pmcheck'],
    ],
  }
}
