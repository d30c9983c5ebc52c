# @summary The section `jruby` of pmcheck.yaml: the thresholds of the JRuby pool.
type Pmcheck::Jruby = Struct[{
    Optional['warming_max'] => Pmcheck::Duration,
    Optional['stuck_after'] => Pmcheck::Duration,
}]
