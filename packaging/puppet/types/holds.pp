# @summary The section `holds` of pmcheck.yaml: where the hold files are.
type Pmcheck::Holds = Struct[{
    Optional['persistent']   => Stdlib::Absolutepath,
    Optional['until_reboot'] => Stdlib::Absolutepath,
}]
