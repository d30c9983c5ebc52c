# @summary The section `code` of pmcheck.yaml: where the deployed environments are.
type Pmcheck::Code = Struct[{
    Optional['dir']      => Stdlib::Absolutepath,
    Optional['interval'] => Pmcheck::Duration,
}]
