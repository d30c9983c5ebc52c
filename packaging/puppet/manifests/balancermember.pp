# @summary Exports this master to the balancers, for their HAProxy to collect.
#
# Nothing is exported unless this class is included. It needs the module
# puppetlabs/haproxy, and PuppetDB, which also decides when a master is gone: at
# `puppet node deactivate`.
#
# @example On a master
#   include pmcheck
#   include pmcheck::balancermember
#
# @example On a balancer
#   haproxy::listen { 'puppet':
#     collect_exported => true,
#     ipaddress        => '*',
#     ports            => '8140',
#     mode             => 'tcp',
#     options          => {
#       'balance' => 'leastconn',
#       'option'  => ['tcplog', 'httpchk GET /'],
#       'timeout' => ['client 30m', 'server 30m'],
#     },
#   }
#
# @param listening_service
#   The `haproxy::listen` or `haproxy::backend` this master belongs to.
# @param port
#   Where Puppet Server listens.
# @param server_name
#   What HAProxy calls this master.
# @param ipaddress
#   Where HAProxy finds it.
# @param check_port
#   Where HAProxy asks pmcheck. By default the port of `pmcheck::listen`.
# @param inter
#   How often it asks.
# @param fall
#   After how many bad answers it takes the master out.
# @param rise
#   After how many good ones it takes the master back.
# @param ca_file
#   The CA on the balancer that has signed the certificate pmcheck shows. Needed
#   with `pmcheck::tls`, and then the check is over TLS.
# @param options
#   Further words for the `server` line, such as `weight 100 slowstart 60s`.
class pmcheck::balancermember (
  String[1]                      $listening_service = 'puppet',
  Stdlib::Port                   $port              = 8140,
  Pattern[/\A\S+\z/]             $server_name       = $facts['networking']['hostname'],
  Stdlib::Host                   $ipaddress         = $facts['networking']['ip'],
  Optional[Stdlib::Port]         $check_port        = undef,
  Pmcheck::Duration              $inter             = '2s',
  Integer[1]                     $fall              = 3,
  Integer[1]                     $rise              = 2,
  Optional[Stdlib::Absolutepath] $ca_file           = undef,
  Array[Pmcheck::Text]           $options           = [],
) {
  include pmcheck

  $own_port = $pmcheck::listen ? {
    undef   => 9200,
    default => Integer(regsubst($pmcheck::listen, '\A.*:', ''), 10),
  }
  $asked = pick($check_port, $own_port)

  if $pmcheck::tls in [undef, 'off'] {
    $over_tls = []
  } elsif $ca_file =~ Undef {
    fail("pmcheck::balancermember::ca_file is needed with pmcheck::tls '${pmcheck::tls}': HAProxy verifies pmcheck with it")
  } else {
    # HAProxy expects the name it asks for.
    $over_tls = ['check-ssl', "check-sni ${trusted['certname']}", 'verify required', "ca-file ${ca_file}"]
  }

  @@haproxy::balancermember { $facts['networking']['fqdn']:
    listening_service => $listening_service,
    ports             => String($port),
    server_names      => $server_name,
    ipaddresses       => $ipaddress,
    options           => ['check', "port ${asked}", "inter ${inter}", "fall ${fall}", "rise ${rise}"] + $over_tls + $options,
  }
}
