# @summary The section `compile` of pmcheck.yaml: how the compile check compiles a catalog.
type Pmcheck::Compile = Struct[{
    Optional['interval']   => Pmcheck::Duration,
    Optional['timeout']    => Pmcheck::Duration,
    Optional['slow_after'] => Pmcheck::Duration,
}]
