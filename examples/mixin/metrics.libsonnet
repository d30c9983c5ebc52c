// Instant vectors of pmcheck's metrics with a selector, and perhaps further matchers.
function(selector) {
  local m = self.m,
  m(name, matchers=''):: 'pmcheck_%s{%s%s}' % [name, selector, if matchers == '' then '' else ',' + matchers],
  up:: 'up{%s}' % selector,

  // Balancers that have servers left in another backend, while a master is out of one of them
  // because it is busy, as with busy=503 in two-sites.cfg. The selector of that master is of its own.
  onlyBusy(other):: std.rstripChars(|||
    on (pool, instance, balancer, source, service) (
      %s < 1
      and on (pool) pmcheck_verdict{%s,service="server",verdict="busy"} == 1
    )
  ||| % [m('balancer_weight_ratio'), other], '\n'),
}
