# @summary The section `puppetdb` of pmcheck.yaml: the master's PuppetDB.
type Pmcheck::Puppetdb = Struct[{
    Optional['address']  => Pmcheck::Address,
    Optional['certname'] => Pmcheck::Certname,
    Optional['interval'] => Pmcheck::Duration,
}]
