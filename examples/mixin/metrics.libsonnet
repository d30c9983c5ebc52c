// Instant vectors of pmcheck's metrics with a selector, and perhaps further matchers.
function(selector) {
  local m = self.m,
  m(name, matchers=''):: 'pmcheck_%s{%s%s}' % [name, selector, if matchers == '' then '' else ',' + matchers],
  up:: 'up{%s}' % selector,
  leastShare:: 'instance:pmcheck_balancer_weight_ratio:min1w{%s}' % selector,
  started:: 'process_start_time_seconds{%s}' % selector,
}
