# @summary The section `gate` of pmcheck.yaml: whose connections are never refused.
type Pmcheck::Gate = Struct[{
    Optional['except'] => Array[Stdlib::IP::Address],
}]
