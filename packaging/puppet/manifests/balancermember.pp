# @summary Exports this master, so that HAProxy on the balancers can collect it.
#
# It exports the master twice: for its backend, and for the backend 0-turn, which gets no agents
# and makes the turns of masters that leave together certain.
#
# It needs the module puppetlabs/haproxy and PuppetDB. `puppet node deactivate` removes a
# master from the balancers.
#
# @example On a master
#   include pmcheck
#   include pmcheck::balancermember
#
# @example On a balancer
#   haproxy::backend { '0-turn':
#     collect_exported => true,
#     mode             => 'tcp',
#     options          => {
#       'no'         => 'log',
#       'option'     => 'httpchk GET /?drain=404',
#       'http-check' => ['disable-on-404', 'send-state'],
#     },
#   }
#   haproxy::listen { 'puppet':
#     collect_exported => true,
#     ipaddress        => '*',
#     ports            => '8140',
#     mode             => 'tcp',
#     options          => {
#       'balance'        => 'leastconn',
#       'option'         => ['tcplog', 'httpchk GET /?drain=404', 'abortonclose'],
#       'http-check'     => ['disable-on-404', 'send-state'],
#       'default-server' => 'weight 100 slowstart 60s',
#       'timeout'        => ['client 30m', 'server 30m', 'queue 110s'],
#     },
#   }
#
# @param listening_service
#   The `haproxy::listen` or `haproxy::backend` this master belongs to.
# @param port
#   Where Puppet Server listens.
# @param server_name
#   The name of this master in HAProxy.
# @param ipaddress
#   The address of this master for HAProxy. By default its IPv4 address, or else its IPv6 address.
# @param check_port
#   The port on which HAProxy asks pmcheck. By default the port of `pmcheck::listen`.
# @param inter
#   The time between two health checks as HAProxy reads it: one number and one unit, such as
#   `2s` or `500ms`.
# @param fall
#   The number of consecutive failures after which the master is DOWN.
# @param rise
#   The number of consecutive successes after which it is UP.
# @param maxconn
#   How many connections HAProxy gives this master at once. The rest of a herd waits in HAProxy:
#   without a limit, it uses up the threads of Puppet Server, and the health check fails.
# @param error_limit
#   How many connections in a row must fail until HAProxy needs only one failed health check more, or as many failures
#   again, to have the master DOWN (`observe layer4`); 0 for never.
# @param options
#   More words for the `server` line, such as `weight 100 slowstart 60s`.
# @param turns
#   Whether the master is exported for the backend 0-turn, too.
class pmcheck::balancermember (
  String[1]                      $listening_service = 'puppet',
  Stdlib::Port                   $port              = 8140,
  Pattern[/\A\S+\z/]             $server_name       = $facts['networking']['hostname'],
  Stdlib::Host                   $ipaddress         = pick($facts['networking']['ip'], $facts['networking']['ip6']),
  Optional[Stdlib::Port]         $check_port        = undef,
  Pattern[/\A[1-9]\d*(m?s|m)\z/] $inter             = '2s',
  Integer[1]                     $fall              = 3,
  Integer[1]                     $rise              = 2,
  Integer[1]                     $maxconn           = 100,
  Integer[0]                     $error_limit       = 20,
  Array[Pmcheck::Text]           $options           = [],
  Boolean                        $turns             = true,
) {
  include pmcheck

  $own_port = $pmcheck::listen ? {
    undef   => 9200,
    default => Integer(regsubst($pmcheck::listen, '\A.*:', ''), 10),
  }
  $asked = pick($check_port, $own_port)

  $server = {
    ports        => String($port),
    server_names => $server_name,
    ipaddresses  => $ipaddress,
  }
  $checked = ['check', "port ${asked}"]
  $counted = ["fall ${fall}", "rise ${rise}"]
  $observed = $error_limit ? {
    0       => [],
    default => ['observe layer4', "error-limit ${error_limit}", 'on-error sudden-death'],
  }

  if $pmcheck::ensure == 'present' {
    @@haproxy::balancermember { $facts['networking']['fqdn']:
      listening_service => $listening_service,
      options           => $checked + ["inter ${inter}"] + $counted + ["maxconn ${maxconn}"] + $observed + $options,
      *                 => $server,
    }

    if $turns {
      @@haproxy::balancermember { "${facts['networking']['fqdn']} 0-turn":
        listening_service => '0-turn',
        options           => $checked + ['inter 1s'] + $counted + ['weight 100'],
        *                 => $server,
      }
    }
  }
}
