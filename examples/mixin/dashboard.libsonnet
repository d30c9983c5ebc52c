{
  local metrics = (import 'metrics.libsonnet')($._config.dashboardSelector),
  local m = metrics.m,
  local up = metrics.up,

  local datasource = { type: 'prometheus', uid: '${datasource}' },
  local panel(type, title, grid, description, targets) = {
    type: type,
    title: title,
    description: description,
    datasource: datasource,
    gridPos: { x: grid[0], y: grid[1], w: grid[2], h: grid[3] },
    targets: [
      targets[i] { refId: std.char(65 + i), datasource: datasource }
      for i in std.range(0, std.length(targets) - 1)
    ],
  },
  local now(expr) = { expr: std.rstripChars(expr, '\n'), instant: true, range: false },
  local over(expr, legend='{{instance}}') =
    { expr: std.rstripChars(expr, '\n'), range: true, instant: false, legendFormat: legend },
  // Each step is a colour and the value from which it applies.
  local thresholds(steps) = { mode: 'absolute', steps: [{ color: s[0], value: s[1] } for s in steps] },
  local mapping(type, options) = { type: type, options: options },
  local without(text, color={}, match='null') =
    mapping('special', { match: match, result: { index: 0, text: text } + color }),
  local grey = { color: '#808080' },
  local dash = without('–', match='null+nan'),

  local stat(title, x, description, expr, steps, empty=null, unit='none', by='', range={}) =
    panel('stat', title, [x, 0, 4, 4], description, [now(expr) + (if by == '' then {} else { legendFormat: by })]) {
      fieldConfig: {
        defaults: { unit: unit, decimals: 0, thresholds: thresholds(steps) } + range +
                  if empty == null then {} else { mappings: [without(empty, grey)] },
        overrides: [],
      },
      options: {
        colorMode: 'background',
        graphMode: 'none',
        justifyMode: 'center',
        textMode: if by == '' then 'value' else 'auto',
        reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
      },
    },

  local graph(title, grid, description, target, unit, defaults={}, custom={}) =
    panel('timeseries', title, grid, description, [target]) {
      fieldConfig: {
        defaults: {
          custom: { drawStyle: 'line', lineWidth: 2, fillOpacity: 5, showPoints: 'never', spanNulls: false } + custom,
          thresholds: thresholds([['green', null]]),
          unit: unit,
          min: 0,
        } + defaults,
        overrides: [],
      },
      options: {
        legend: { showLegend: true, displayMode: 'list', placement: 'bottom' },
        tooltip: { mode: 'multi', sort: 'desc' },
      },
      transformations: [{ id: 'renameByRegex', options: { regex: '^(.*?):\\d+( .*)?$', renamePattern: '$1$2' } }],
    },

  // A column is a label, or the letter of a query, with its heading and Grafana's settings.
  local column(name, heading, properties={}) = { name: name, heading: heading, properties: properties },
  local master = column('instance', 'Master', {
    mappings: [mapping('regex', { pattern: '^(.*):\\d+$', result: { index: 0, text: '$1' } })],
  }),
  local seconds(width=90) = { unit: 'dtdurations', 'custom.width': width },
  local width(n) = { 'custom.width': n },
  local coloured(mappings) = { mappings: mappings, 'custom.cellOptions': { type: 'color-text' } },
  local okOr(color) = coloured([
    mapping('value', { ok: { index: 0, text: 'ok', color: 'green' } }),
    mapping('regex', { pattern: '(.+)', result: { index: 1, text: '$1', color: color } }),
  ]),
  local words(pairs) = coloured([
    mapping('value', {
      [pairs[i][0]]: { index: i, text: pairs[i][0], color: pairs[i][1] }
      for i in std.range(0, std.length(pairs) - 1)
    }),
  ]),
  local expiry = [['red', null], ['orange', 86400], ['yellow', 7 * 86400], ['green', 30 * 86400]],

  local table(title, grid, description, exprs, columns, sort, empty='none', hidden=[]) =
    local merged = std.length(exprs) > 1;
    local field(c) = if merged && std.length(c.name) == 1 then 'Value #%s (lastNotNull)' % c.name else c.name;
    panel('table', title, grid, description, [now(e) { format: 'table' } for e in exprs]) {
      fieldConfig: {
        defaults: {
          noValue: empty,
          custom: { align: 'auto', minWidth: 60 },
          thresholds: thresholds([['text', null]]),
        },
        overrides: [
          {
            matcher: { id: 'byName', options: c.heading },
            properties: [{ id: id, value: c.properties[id] } for id in std.objectFields(c.properties)],
          }
          for c in columns
          if c.properties != {}
        ],
      },
      options: { showHeader: true, cellHeight: 'sm', sortBy: [{ displayName: sort, desc: false }] },
      transformations: (if merged then [
                          { id: 'merge', options: {} },
                          {
                            id: 'groupBy',
                            options: { fields: {
                              [if std.length(c.name) == 1 then 'Value #' + c.name else c.name]:
                                if std.length(c.name) == 1
                                then { operation: 'aggregate', aggregations: ['lastNotNull'] }
                                else { operation: 'groupby', aggregations: [] }
                              for c in columns
                            } },
                          },
                        ] else []) + [{
        id: 'organize',
        options: {
          excludeByName: { [name]: true for name in (if merged then [] else ['Time', 'job', 'pool'] + hidden) },
          indexByName: { [field(columns[i])]: i for i in std.range(0, std.length(columns) - 1) },
          renameByName: { [field(c)]: c.heading for c in columns },
        },
      }],
    },

  local serving = 'sum by (pool) (%s or 0 * %s)' % [m('serving', 'service="server"'), up],
  // Each state of a master as a number. If several apply, the first one counts.
  local states = [
    ['no pmcheck', 'dark-red', up],
    ['healthy', 'green', m('verdict', 'service="server",verdict="healthy"')],
    ['busy', 'yellow', m('verdict', 'service="server",verdict="busy"')],
    ['warming', 'blue', m('verdict', 'service="server",verdict="warming"')],
    ['unknown', 'orange', m('verdict', 'service="server",verdict="unknown"')],
    ['unhealthy', 'red', m('verdict', 'service="server",verdict="unhealthy"')],
    ['drain', 'purple', m('mode', 'service="server",mode="drain"')],
    ['maint', 'dark-purple', m('mode', 'service="server",mode="maint"')],
  ],
  local timeline = panel(
    'state-timeline',
    'Each master',
    [0, 4, 24, 8],
    'The mode of a held master, otherwise its verdict. Green and yellow masters serve.',
    [over('max by (instance) (\n    %s\n)' % std.join('\n or ', [
      '%d * %s' % [i, states[i][2]]
      for i in std.reverse(std.range(0, std.length(states) - 1))
    ]))],
  ) {
    fieldConfig: {
      defaults: {
        custom: { fillOpacity: 80, lineWidth: 0 },
        mappings: [mapping('value', {
          [std.toString(i)]: { index: i, text: states[i][0], color: states[i][1] }
          for i in std.range(0, std.length(states) - 1)
        })],
        color: { mode: 'fixed', fixedColor: 'text' },
      },
      overrides: [],
    },
    options: {
      showValue: 'auto',
      mergeValues: true,
      rowHeight: 0.85,
      alignValue: 'left',
      legend: { showLegend: true, displayMode: 'list', placement: 'bottom' },
      tooltip: { mode: 'single' },
    },
    transformations: [{ id: 'renameByRegex', options: { regex: '^(.*):\\d+$', renamePattern: '$1' } }],
  },

  local panels = [
    stat(
      'Masters that serve',
      0,
      'Masters for which balancers are told 200, for each pool.',
      serving,
      [['red', null], ['green', 1]],
      by='{{pool}}',
    ),
    stat(
      'Masters that do not',
      4,
      'Masters that are held, unhealthy or cannot be scraped, for each pool.',
      'count by (pool) (%s) - %s' % [up, serving],
      [['green', null], ['orange', 1]],
      'No data',
      by='{{pool}}',
    ),
    stat(
      'Last server of a balancer',
      8,
      'Balancers with one master left; only those with http-check send-state count that had another one this week.',
      |||
        count((%s == 1 and ignoring (state) %s == 1)
          and %s < 1
          and on (pool) count by (pool) (up{job=~"$job",pool=~"$pool"}) > 1)
        or 0 * count(%s)
      ||| % [
        m('balancer_weight_ratio'),
        m('balancer_state', 'state="UP"'),
        metrics.leastShare,
        m('balancer_weight_ratio'),
      ],
      [['green', null], ['red', 1]],
      'not told',
    ),
    stat(
      'JRubies at work',
      12,
      'Over all masters whose JRuby pool is known, for each pool.',
      'sum by (pool) (%s) / sum by (pool) (%s)' % [m('jruby_borrowed_instances'), m('jruby_instances')],
      [['green', null], ['yellow', 0.8], ['red', 0.95]],
      'not known',
      'percentunit',
      '{{pool}}',
      { min: 0, max: 1 },
    ),
    stat(
      'Versions of the code',
      16,
      'In the pool and environment with the most versions; 1 is good.',
      'max(count by (pool, environment) (count by (pool, environment, id) (%s)))' % m('code_info', 'id=~"[0-9a-f]+"'),
      [['green', null], ['orange', 2]],
      'not known',
    ),
    stat(
      'Until something expires',
      20,
      'The first certificate or CRL that expires on any master.',
      'min(%s) - time()' % m('certificate_expiry_timestamp_seconds'),
      expiry,
      'not known',
      'dtdurations',
    ),
    timeline,
    table(
      'Verdicts',
      [0, 12, 8, 8],
      "The reason of each master's state, and its age.",
      [|||
        (time() - %s) * on (instance, service) group_left (reason) %s
        or label_replace(NaN * (%s == 0), "reason", "no pmcheck", "", "")
      ||| % [m('verdict_since_timestamp_seconds'), m('verdict_reason_info'), up]],
      [
        master,
        column('service', 'Service', width(74) + { noValue: '–' }),
        column('reason', 'Reason', okOr('orange')),
        column('Value', 'For', seconds() + { mappings: [dash] }),
      ],
      'Master',
    ),
    table(
      'Holds',
      [8, 12, 8, 8],
      'Holders that keep masters out, since when, and when the hold ends.',
      [
        '(time() - %s) * on (instance, holder, service) group_left (mode) %s' %
        [m('hold_since_timestamp_seconds'), m('hold_info')],
        |||
          (%s - time()) * on (instance, holder, service) group_left (mode) %s
          or NaN * %s
        ||| % [m('hold_end_timestamp_seconds'), m('hold_info'), m('hold_info')],
      ],
      [
        master,
        column('holder', 'Holder', width(74)),
        column('mode', 'Mode', words([['drain', 'purple'], ['maint', 'purple']]) + width(56)),
        column('A', 'For', seconds()),
        column('B', 'Ends in', seconds() + { mappings: [dash] }),
        column('service', 'Service', width(70) + { noValue: 'all' }),
      ],
      'Master',
    ),
    table(
      'Checks that are not well',
      [16, 12, 8, 8],
      'The checks besides the probe. A failed check with severity eject takes the master out.',
      ['(%s == 1) * on (instance, check) group_left (reason) %s' %
       [m('check_state', 'state!="ok"'), m('check_reason_info')]],
      [
        master,
        column('check', 'Check', width(74)),
        column('state', 'State', words([['bad', 'red'], ['warn', 'orange'], ['unknown', 'blue']]) + width(68)),
        column('reason', 'Reason'),
        column('severity', 'Severity', width(76)),
      ],
      'Master',
      hidden=['Value'],
    ),
    graph(
      'JRubies at work',
      [0, 20, 8, 8],
      'At 100 % all instances are busy, and requests wait.',
      over('%s / %s' % [m('jruby_borrowed_instances'), m('jruby_instances')]),
      'percentunit',
      { max: 1 },
    ),
    graph(
      'Requests that wait for a JRuby',
      [8, 20, 8, 8],
      'If it stays above 0, the pool is too small for the load, or stuck.',
      over(m('jruby_waiting_requests')),
      'none',
      { decimals: 0 },
      { axisSoftMax: 5 },
    ),
    graph(
      'Probe latency, 99th percentile',
      [16, 20, 8, 8],
      'How long Puppet Server takes to answer a probe.',
      over(|||
        histogram_quantile(0.99, sum by (instance, le) (rate(%s[$__rate_interval])))
        or histogram_quantile(0.99, sum by (instance) (rate(%s[$__rate_interval])))
      ||| % [
        m('probe_duration_seconds_bucket', 'service="server"'),
        m('probe_duration_seconds', 'service="server"'),
      ]),
      's',
    ),
    table(
      'What balancers make of us',
      [0, 28, 12, 8],
      'From HAProxy with http-check send-state. A share of 100 % is the last server; ' +
      'only a server that is UP has a share.',
      local by = 'on (instance, balancer, source, server, service)'; [
        |||
          %s * %s group_left (state) (%s == 1)
          or NaN * (%s == 1)
        ||| % [m('balancer_weight_ratio'), by, m('balancer_state', 'state="UP"'), m('balancer_state')],
        '%s * %s group_left (state) (%s == 1)' % [m('balancer_sessions'), by, m('balancer_state')],
        'time() - %s and %s %s' % [m('balancer_check_timestamp_seconds'), by, m('balancer_sessions')],
      ],
      [
        column('balancer', 'Balancer', width(80)),
        column('server', 'Server'),
        column('state', 'State', words([
          ['UP', 'green'],
          ['NOLB', 'purple'],
          ['DRAIN', 'purple'],
          ['MAINT', 'purple'],
          ['DOWN', 'red'],
        ]) + width(75)),
        column('A', 'Share', { unit: 'percentunit', mappings: [dash] } + width(70)),
        column('B', 'Sessions', width(80)),
        column('C', 'Asked ago', { unit: 's', decimals: 0 } + width(90)),
        master,
      ],
      'Balancer',
      'no balancer tells',
    ),
    graph(
      'Answers to balancers',
      [12, 28, 12, 8],
      '200 is in service, 503 is out, 404 is a drain for balancers that asked for that code.',
      over('sum by (instance, code) (rate(%s[$__rate_interval]))' % m('answers_total'), '{{instance}} {{code}}'),
      'reqps',
    ),
    table(
      'Certificates and CRLs',
      [0, 36, 12, 8],
      'Sorted by expiry.',
      ['sort(%s - time())' % m('certificate_expiry_timestamp_seconds')],
      [
        master,
        column('certificate', 'Certificate', width(90)),
        column('subject', 'Subject or issuer'),
        column('serial', 'Serial', width(70) + { noValue: '–' }),
        column('Value', 'Expires in', seconds(100) {
          thresholds: thresholds(expiry),
          'custom.cellOptions': { type: 'color-text' },
        }),
      ],
      'Expires in',
    ),
    table(
      'Code',
      [12, 36, 12, 8],
      'Masters with the same id have the same code.',
      [m('code_info')],
      [
        column('environment', 'Environment'),
        column('id', 'Id'),
        master,
      ],
      'Environment',
      'no environment',
      ['Value', '__name__'],
    ),
    panel(
      'timeseries',
      'Budget: masters out and allowed',
      [0, 44, 24, 6],
      'As the masters see it, for each budget. Forced masters are those beyond what is allowed. ' +
      'Empty without a budget.',
      [
        over('max by (budget) (%s)' % m('budget_slots_' + which), '{{budget}} ' + which)
        for which in ['out', 'allowed', 'forced']
      ],
    ) { fieldConfig: { defaults: { unit: 'none', min: 0, decimals: 0 }, overrides: [] }, options: {} },
  ],

  local variable(name, label, query, all='.*') = {
    name: name,
    label: label,
    type: 'query',
    datasource: datasource,
    query: { query: query, refId: name },
    definition: query,
    refresh: 2,
    includeAll: true,
    multi: true,
    allValue: all,
    sort: 1,
    current: { selected: true, text: ['All'], value: ['$__all'] },
    options: [],
    hide: 0,
  },

  grafanaDashboards+:: {
    'pmcheck.json': $._config.dashboard {
      description: "A pool of Puppet masters, from pmcheck's metrics.",
      schemaVersion: 38,
      version: 1,
      editable: true,
      graphTooltip: 1,
      refresh: '30s',
      time: { from: 'now-3h', to: 'now' },
      timezone: '',
      links: [{
        type: 'link',
        title: 'Runbook',
        url: std.rstripChars($._config.runbook, '#'),
        icon: 'doc',
        targetBlank: true,
      }],
      annotations: { list: [{
        name: 'Starts of pmcheck',
        enable: true,
        iconColor: 'blue',
        datasource: datasource,
        expr: 'changes(%s[2m]) > 0' % metrics.started,
        titleFormat: 'pmcheck started on {{instance}}',
        step: '60s',
      }] },
      templating: { list: [
        {
          name: 'datasource',
          label: 'Data source',
          type: 'datasource',
          query: 'prometheus',
          current: {},
          options: [],
          hide: 0,
          refresh: 1,
          includeAll: false,
          multi: false,
        },
        // "All" is the jobs that have a pmcheck: up is a series of every job.
        variable('job', 'Job', 'label_values(pmcheck_build_info, job)', null),
        variable('pool', 'Pool', 'label_values(up{job=~"$job"}, pool)'),
        variable('instance', 'Master', 'label_values(up{job=~"$job",pool=~"$pool"}, instance)', '.+'),
      ] },
      panels: [panels[i] { id: i + 1 } for i in std.range(0, std.length(panels) - 1)],
    },
  },
}
