# @summary The section `puppet` of pmcheck.yaml: where Puppet's own configuration is.
type Pmcheck::Puppet = Struct[{
    Optional['conf'] => Stdlib::Absolutepath,
}]
