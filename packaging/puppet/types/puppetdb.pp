# @summary The section `puppetdb` of pmcheck.yaml: where the master's PuppetDB answers.
type Pmcheck::Puppetdb = Struct[{
    Optional['address']  => Pmcheck::Address,
    Optional['certname'] => Pmcheck::Certname,
    Optional['interval'] => Pmcheck::Duration,
}]
