# @summary The section `holds` of pmcheck.yaml: the directories of the hold files.
type Pmcheck::Holds = Struct[{
    Optional['persistent']   => Stdlib::Absolutepath,
    Optional['until_reboot'] => Stdlib::Absolutepath,
}]
