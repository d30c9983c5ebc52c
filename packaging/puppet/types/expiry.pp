# @summary The section `expiry` of pmcheck.yaml: when certificates and CRLs are warned of.
type Pmcheck::Expiry = Struct[{
    Optional['warn'] => Pmcheck::Duration,
}]
