{
  local metrics = (import 'metrics.libsonnet')($._config.selector),
  local m = metrics.m,
  local up = metrics.up,

  prometheusRules+:: {
    groups+: [{
      name: 'pmcheck-pool',
      rules: [
        {
          record: 'pool:pmcheck_masters:count',
          expr: 'count by (pool) (%s)' % up,
        },
        {
          // A master that cannot be scraped counts as one that does not serve.
          record: 'pool:pmcheck_serving:sum',
          expr: 'sum by (pool) (%s or %s * 0)' % [m('serving', 'service="server"'), up],
        },
        {
          // A held master that cannot be scraped, because it reboots, counts for another hour.
          record: 'pool:pmcheck_held:sum',
          expr: |||
            sum by (pool) (
              last_over_time(%s[1h]) and on (pool, instance) %s
              or %s * 0
            )
          ||| % [m('mode', 'service="server",mode!="ready"'), up, up],
        },
        {
          record: 'pool_environment:pmcheck_code_ids:count',
          expr: 'count by (pool, environment) (count by (pool, environment, id) (%s))' % m('code_info', 'id=~"[0-9a-f]+"'),
        },
        {
          record: 'instance:pmcheck_jruby_utilization:ratio',
          expr: '%s / %s' % [m('jruby_borrowed_instances'), m('jruby_instances')],
        },
        {
          // The first half is for classic buckets, the second for native histograms.
          record: 'instance:pmcheck_probe_duration_seconds:p99',
          expr: |||
            histogram_quantile(0.99, sum by (pool, instance, le) (rate(%s[5m])))
            or histogram_quantile(0.99, sum by (pool, instance) (rate(%s[5m])))
          ||| % [
            m('probe_duration_seconds_bucket', 'service="server"'),
            m('probe_duration_seconds', 'service="server"'),
          ],
        },
      ],
    }],
  },
}
