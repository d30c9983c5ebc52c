# @summary The section `expiry` of pmcheck.yaml: how long before certificates and CRLs expire the check warns.
type Pmcheck::Expiry = Struct[{
    Optional['warn'] => Pmcheck::Duration,
}]
