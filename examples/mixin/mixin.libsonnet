// A monitoring mixin for masters with pmcheck: recording rules, alerts and a dashboard from
// one selector. The label pool distinguishes pools. To use other names, extend it:
//
//   (import 'mixin.libsonnet') + { _config+:: { selector: 'job="puppet",cluster="a"' } }
(import 'config.libsonnet') +
(import 'rules.libsonnet') +
(import 'alerts.libsonnet') +
(import 'dashboard.libsonnet')
