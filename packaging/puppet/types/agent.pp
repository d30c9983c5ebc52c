# @summary The section `agent` of pmcheck.yaml: how HAProxy's agent-checks are answered.
type Pmcheck::Agent = Struct[{
    Optional['listen'] => Pmcheck::Listen,
    Optional['weight'] => Boolean,
}]
