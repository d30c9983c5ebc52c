# @summary The section `checks` of pmcheck.yaml: what each check besides the probe may do.
type Pmcheck::Checks = Struct[{
    Optional['jruby']    => Pmcheck::Severity,
    Optional['unit']     => Pmcheck::Severity,
    Optional['expiry']   => Pmcheck::Severity,
    Optional['disk']     => Pmcheck::Severity,
    Optional['code']     => Pmcheck::Severity,
    Optional['puppetdb'] => Pmcheck::Severity,
}]
