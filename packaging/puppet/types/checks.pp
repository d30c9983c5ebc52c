# @summary The section `checks` of pmcheck.yaml: what each check besides the probe may do.
type Pmcheck::Checks = Struct[{
    Optional['jruby']    => Pmcheck::Severity,
    Optional['unit']     => Pmcheck::Severity,
    Optional['identity'] => Enum['warn', 'off'],
    Optional['expiry']   => Enum['warn', 'off'],
    Optional['disk']     => Pmcheck::Severity,
    Optional['code']     => Enum['warn', 'off'],
    Optional['puppetdb'] => Enum['warn', 'off'],
}]
