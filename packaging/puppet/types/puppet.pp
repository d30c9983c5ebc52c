# @summary The section `puppet` of pmcheck.yaml: where puppet.conf is.
type Pmcheck::Puppet = Struct[{
    Optional['conf'] => Stdlib::Absolutepath,
}]
