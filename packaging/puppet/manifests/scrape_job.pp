# @summary Exports this master, so that Prometheus can collect it and scrape /metrics.
#
# It needs the module puppet/prometheus and PuppetDB. The host of Prometheus must be in
# `pmcheck::allow`, if that is set.
#
# @example On a master
#   include pmcheck
#   include pmcheck::scrape_job
#
# @example On the host of Prometheus
#   class { 'prometheus::server':
#     collect_scrape_jobs => [{ 'job_name' => 'pmcheck' }],
#   }
#
# @param job_name
#   The job in Prometheus.
# @param host
#   The name or address of this master for Prometheus.
# @param port
#   The port of pmcheck. By default the port of `pmcheck::listen`.
# @param labels
#   Labels for the metrics of this master, such as its pool.
class pmcheck::scrape_job (
  String[1]                  $job_name = 'pmcheck',
  Stdlib::Host               $host     = $facts['networking']['fqdn'],
  Optional[Stdlib::Port]     $port     = undef,
  Hash[String[1], String[1]] $labels   = {},
) {
  include pmcheck

  $own_port = $pmcheck::listen ? {
    undef   => 9200,
    default => Integer(regsubst($pmcheck::listen, '\A.*:', ''), 10),
  }

  # An IPv6 address needs brackets before a port.
  $target = $host ? {
    Stdlib::IP::Address::V6::Nosubnet => "[${host}]",
    default                           => $host,
  }

  if $pmcheck::ensure == 'present' {
    @@prometheus::scrape_job { "pmcheck on ${facts['networking']['fqdn']}":
      job_name => $job_name,
      targets  => ["${target}:${pick($port, $own_port)}"],
      labels   => $labels,
    }
  }
}
