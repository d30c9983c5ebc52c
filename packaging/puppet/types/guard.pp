# @summary The section `guard` of pmcheck.yaml: how long the guard may wait.
type Pmcheck::Guard = Struct[{
    Optional['turn']     => Pmcheck::Duration,
    Optional['wait']     => Pmcheck::Duration,
    Optional['shutdown'] => Pmcheck::Duration,
    Optional['return']   => Pmcheck::Duration,
}]
