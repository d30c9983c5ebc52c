// The dashboard, to import into Grafana: jsonnet dashboard.jsonnet
(import 'mixin.libsonnet').grafanaDashboards['pmcheck.json']
