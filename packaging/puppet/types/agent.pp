# @summary The section `agent` of pmcheck.yaml: HAProxy's agent-check.
type Pmcheck::Agent = Struct[{
    Optional['listen'] => Pmcheck::Listen,
    Optional['weight'] => Boolean,
}]
