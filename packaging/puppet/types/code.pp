# @summary The section `code` of pmcheck.yaml: the directory of the deployed environments.
type Pmcheck::Code = Struct[{
    Optional['dir'] => Stdlib::Absolutepath,
}]
