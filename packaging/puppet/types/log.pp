# @summary The section `log` of pmcheck.yaml: how the daemon logs.
type Pmcheck::Log = Struct[{
    Optional['level'] => Enum['debug', 'info', 'warn', 'error'],
}]
