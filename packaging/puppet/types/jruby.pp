# @summary The section `jruby` of pmcheck.yaml: how the pool of JRuby instances is judged.
type Pmcheck::Jruby = Struct[{
    Optional['interval']    => Pmcheck::Duration,
    Optional['warming_max'] => Pmcheck::Duration,
    Optional['stuck_after'] => Pmcheck::Duration,
    Optional['busy_fall']   => Integer[1, 100],
}]
