{
  _config+:: {
    // Matchers for the series of pmcheck. They are in every rule.
    selector: 'job="pmcheck"',

    // Matchers in every query of the dashboard, with its variables.
    dashboardSelector: 'job=~"$job",pool=~"$pool",instance=~"$instance"',

    // Where the sections of the runbook are; the name of the alert in lower case follows.
    runbook: 'https://github.com/pmcheck/pmcheck/blob/main/examples/prometheus/runbook.md#',

    // The label severity of an alert that needs action now, this week, or eventually.
    severities: { now: 'critical', week: 'warning', some: 'info' },

    dashboard: { uid: 'pmcheck-pool', title: 'Puppet masters (pmcheck)', tags: ['puppet', 'pmcheck'] },
  },
}
