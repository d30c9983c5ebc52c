# @summary The section `puppetdb` of pmcheck.yaml: the master's PuppetDB.
type Pmcheck::Puppetdb = Struct[{
    Optional['address'] => Pmcheck::Address,
}]
