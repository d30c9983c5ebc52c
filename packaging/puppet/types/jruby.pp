# @summary The section `jruby` of pmcheck.yaml: the thresholds of the JRuby pool.
type Pmcheck::Jruby = Struct[{
    Optional['interval']    => Pmcheck::Duration,
    Optional['warming_max'] => Pmcheck::Duration,
    Optional['stuck_after'] => Pmcheck::Duration,
    Optional['busy_fall']   => Integer[1, 100],
}]
