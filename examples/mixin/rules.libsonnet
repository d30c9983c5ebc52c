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
          expr: 'count by (pool, environment) (count by (pool, environment, id) (%s))' % m('code_info'),
        },
        {
          record: 'instance:pmcheck_jruby_utilization:ratio',
          expr: '%s / %s' % [m('jruby_borrowed_instances'), m('jruby_instances')],
        },
      ],
    }, {
      // Of its own, since a week is a lot to read. A series without a sample for 5 minutes is gone.
      name: 'pmcheck-week',
      interval: '2m',
      rules: [
        {
          record: 'instance:pmcheck_balancer_weight_ratio:min1w',
          expr: 'min_over_time(%s[1w:5m])' % m('balancer_weight_ratio'),
        },
      ],
    }],
  },
}
