{
  local metrics = (import 'metrics.libsonnet')($._config.selector),
  local m = metrics.m,
  local up = metrics.up,
  local severities = $._config.severities,

  local alert(name, severity, expr, pending, summary, description) = {
    alert: name,
    expr: expr,
    [if pending != '' then 'for']: pending,
    labels: { severity: severity },
    annotations: {
      summary: summary,
      description: description,
      runbook_url: $._config.runbook + std.asciiLower(name),
    },
  },

  // Three alerts of one name, the nearer the time the more severe. The margin is 30 days, and
  // shorter for what lives for a short time and is renewed by a program.
  local expires(name, which, summary, description) =
    local left = m('certificate_expiry_timestamp_seconds', which) + ' - time()';
    local margin = m('certificate_expiry_margin_seconds', which);
    [
      alert(name, severities.now, '%s < clamp_max(%s, 86400)' % [left, margin], '', summary, description),
      alert(name, severities.week, '86400 <= %s < clamp_max(%s, 7 * 86400)' % [left, margin], '', summary, description),
      alert(name, severities.some, '7 * 86400 <= %s < %s' % [left, margin], '', summary, description),
    ],

  // A pool of one master has no last server, and neither has a balancer that had no other
  // server all week, such as one for the CA alone.
  local last = |||
    (%s == 1 and ignoring (state) %s == 1)
    and %s < 1
    and on (pool) pool:pmcheck_masters:count > 1
  ||| % [
    m('balancer_weight_ratio'),
    m('balancer_state', 'state="UP"'),
    metrics.leastShare,
  ],
  // This master is ready, and all others of its pool are held.
  local planned = |||
    on (pool, instance) (
      %s == 1
      and on (pool) pool:pmcheck_masters:count - pool:pmcheck_held:sum == 1
    )
  ||| % m('mode', 'service="server",mode="ready"'),
  local lastServer(severity, condition, description) = alert(
    'PuppetLastServer',
    severity,
    last + condition + ' ' + planned,
    '5m',
    '{{ $labels.instance }} is the last server of {{ $labels.balancer }}',
    'Balancer {{ $labels.balancer }} gives new agents to {{ $labels.server }} alone. ' + description,
  ),

  prometheusAlerts+:: {
    groups+: [{
      name: 'pmcheck-alerts',
      rules: [
        alert(
          'PuppetPoolOut',
          severities.now,
          'pool:pmcheck_serving:sum == 0',
          '1m',
          'No Puppet master in pool {{ $labels.pool }} serves agents',
          'All masters of the pool are held, unhealthy or cannot be scraped. Agents get no catalogs.',
        ),
        lastServer(severities.now, 'unless', 'The next failure takes the pool out.'),
        lastServer(severities.week, 'and', 'All other masters of the pool are held.'),
        alert(
          'PuppetMasterOut',
          severities.week,
          m('serving', 'service="server"') + ' == 0',
          '30m',
          '{{ $labels.instance }} has been out for 30 minutes',
          'Balancers are told not to use it. ' +
          'Mode: {{ range printf `%s == 1` $labels.instance | query }}{{ .Labels.mode }}{{ end }}, ' %
          m('mode', 'instance=%q,service="server"') +
          'verdict: {{ range printf `%s` $labels.instance | query }}{{ .Labels.reason }}{{ end }}.' %
          m('verdict_reason_info', 'instance=%q,service="server"'),
        ),
        alert(
          'PuppetMasterWarming',
          severities.week,
          m('verdict', 'service="server",verdict="warming"') + ' == 1',
          '10m',
          '{{ $labels.instance }} has been starting for 10 minutes',
          'It is up, and does not become ready.',
        ),
        alert(
          'PuppetJRubySaturated',
          severities.week,
          |||
            avg_over_time(instance:pmcheck_jruby_utilization:ratio[10m]) > 0.95
            and avg_over_time(%s[10m]) >= 1
          ||| % m('jruby_waiting_requests'),
          '10m',
          'All JRubies of {{ $labels.instance }} are at work, and requests wait',
          'Over ten minutes {{ $value | humanizePercentage }} of the instances were busy. Agents wait for catalogs.',
        ),
        alert(
          'PuppetRequestsTurnedAway',
          severities.week,
          |||
            increase(%s[10m]) > 0
            or increase(%s[10m]) > 0
          ||| % [m('jruby_borrow_timeouts_total'), m('jruby_queue_limit_hits_total')],
          '',
          '{{ $labels.instance }} turns agents away',
          'Requests timed out waiting for a JRuby, or found the queue full. Those runs failed, or agents retry later.',
        ),
        alert(
          'PuppetCodeDiffers',
          severities.week,
          'pool_environment:pmcheck_code_ids:count > 1',
          '30m',
          'Masters of pool {{ $labels.pool }} differ in environment {{ $labels.environment }}',
          '{{ $value }} versions of the code are deployed. ' +
          'An agent may get its catalog from one and its files from another.',
        ),
      ] + expires(
        'PuppetCertificateExpires',
        'certificate!="crl"',
        'A certificate on {{ $labels.instance }} expires in {{ $value | humanizeDuration }}',
        'It is the {{ $labels.certificate }} certificate {{ $labels.subject }}, serial {{ $labels.serial }}.',
      ) + expires(
        'PuppetCRLExpires',
        'certificate="crl"',
        'A CRL on {{ $labels.instance }} expires in {{ $value | humanizeDuration }}',
        'It is the CRL of {{ $labels.subject }}. With an expired CRL Puppet Server refuses every agent.',
      ) + [
        alert(
          'PmcheckHoldWithoutEnd',
          severities.week,
          |||
            time() - %s > 86400
            unless on (instance, holder, service) %s
          ||| % [m('hold_since_timestamp_seconds'), m('hold_end_timestamp_seconds')],
          '',
          '{{ $labels.holder }} has held {{ $labels.instance }} for {{ $value | humanizeDuration }}',
          'The hold has no end of its own. Perhaps it was forgotten.',
        ),
        alert(
          'PmcheckAbsent',
          severities.week,
          '%s == 0 or absent(%s)' % [up, up],
          '2m',
          '{{ if $labels.instance }}pmcheck on {{ $labels.instance }} does not answer' +
          '{{ else }}Prometheus scrapes no pmcheck{{ end }}',
          'Balancers get no answer either, and take the master out.',
        ),
        alert(
          'PmcheckRefusesConnections',
          severities.week,
          'increase(%s[5m]) > 0' % m('refused_connections_total', 'by!~"request|silence"'),
          '15m',
          '{{ $labels.instance }} refuses connections, by {{ $labels.by }}',
          'A balancer that is refused takes the master out. pmcheck status names the addresses.',
        ),
        alert(
          'PmcheckRefusesBalancer',
          severities.week,
          'increase(%s[5m]) > 0' % m('refused_connections_total', 'by=~"request|silence"'),
          '',
          '{{ $labels.instance }} refuses what a balancer asks',
          'It is answered 400 or 405, or sends no request and hears no answer, whatever the master is. ' +
          'pmcheck status says what it asks.',
        ),
        alert(
          'PmcheckBalancerUnlisted',
          severities.week,
          m('balancers_unlisted') + ' > 0',
          '10m',
          'The setting balancers of {{ $labels.instance }} does not list a balancer that uses it',
          'A drain does not wait for that balancer. pmcheck status names its address.',
        ),
        alert(
          'PmcheckBalancerSilent',
          severities.week,
          'time() - %s > 600' % m('balancer_check_timestamp_seconds'),
          '',
          'Balancer {{ or $labels.balancer $labels.source }} has stopped asking {{ $labels.instance }}',
          'Its last check was {{ $value | humanizeDuration }} ago. After a day it is forgotten.',
        ),
        alert(
          'PmcheckConfigNotReloaded',
          severities.week,
          m('config_last_reload_successful') + ' == 0',
          '10m',
          'pmcheck on {{ $labels.instance }} does not use its newest configuration',
          'pmcheck.yaml has a mistake. An older configuration is in use, and a start after a reboot will fail.',
        ),
        alert(
          'PmcheckCheckStuck',
          severities.week,
          |||
            %s
            or label_replace(%s, "check", "probe", "", "")
          ||| % [m('check_reason_info', 'reason="stale"'), m('verdict_reason_info', 'reason="stale"')],
          '5m',
          'Check {{ $labels.check }} on {{ $labels.instance }} is stuck',
          'It has not finished for more than three of its intervals, so its last result no longer counts.',
        ),
        alert(
          'PmcheckOwnFiles',
          severities.week,
          m('check_reason_info', 'reason=~"own-.*|crl-.*"'),
          '10m',
          'pmcheck on {{ $labels.instance }} cannot use all of its own files: {{ $labels.reason }}',
          'Balancers are answered by what is true of the master, but an expired CRL that refuses agents may go unseen.',
        ),
        alert(
          'PmcheckStatusDenied',
          severities.week,
          m('check_reason_info', 'reason="auth-denied"'),
          '10m',
          'auth.conf on {{ $labels.instance }} denies the status to pmcheck',
          'Agents are served, but JRubies that start or are stuck, and the requests that hold them, are not seen.',
        ),
        alert(
          'PmcheckNotVerified',
          severities.week,
          m('check_reason_info', 'reason="not-verified"'),
          '',
          'pmcheck on {{ $labels.instance }} does not know what to verify the master with',
          'Whatever has its port may pass for the master, and an expired CRL that refuses agents may go unseen.',
        ),
        alert(
          'PmcheckPuppetConf',
          severities.week,
          m('check_reason_info', 'reason=~"no-puppet|puppet-conf-.*|certname-not-known|certificate-pending"'),
          '10m',
          'pmcheck on {{ $labels.instance }} goes on without what puppet.conf says: {{ $labels.reason }}',
          'It uses what puppet.conf said last, or the default paths. pmcheck status names the line.',
        ),
        alert(
          'PmcheckHoldsUnreadable',
          severities.week,
          m('holds_readable') + ' == 0',
          '2m',
          'pmcheck on {{ $labels.instance }} cannot read its holds',
          'The holds that it read last count. A hold that is set or lifted now may not be seen.',
        ),
        alert(
          'PmcheckBudgetUnreachable',
          severities.week,
          m('budget_reachable') + ' == 0',
          '10m',
          '{{ $labels.instance }} cannot ask the budget of pool {{ $labels.budget }}',
          'Until the database answers, drain and maint are refused there. Balancers are answered as before.',
        ),
        alert(
          'PmcheckBudgetExceeded',
          severities.week,
          'max by (pool, budget) (%s - %s) > 0' % [m('budget_slots_out'), m('budget_slots_allowed')],
          '15m',
          'More masters of pool {{ $labels.budget }} are out than its budget allows',
          'Some were forced out, or are unhealthy. No other master can be drained in its turn.',
        ),
      ],
    }],
  },
}
