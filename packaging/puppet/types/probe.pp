# @summary The section `probe` of pmcheck.yaml: how the master is probed.
type Pmcheck::Probe = Struct[{
    Optional['address']     => Variant[Pmcheck::Address, Pattern[/\Ahttp:\/\/[^\s\/]+:\d{1,5}\z/]],
    Optional['certname']    => Pmcheck::Certname,
    Optional['certificate'] => Stdlib::Absolutepath,
    Optional['key']         => Stdlib::Absolutepath,
    Optional['ca']          => Stdlib::Absolutepath,
    Optional['crl']         => Stdlib::Absolutepath,
    Optional['interval']    => Pmcheck::Duration,
    Optional['timeout']     => Pmcheck::Duration,
}]
