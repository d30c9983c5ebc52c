# @summary The section `disk` of pmcheck.yaml: the directories and thresholds of the disk check.
type Pmcheck::Disk = Struct[{
    Optional['paths']        => Array[Stdlib::Absolutepath],
    Optional['warn_percent'] => Integer[0, 99],
    Optional['eject_mib']    => Integer[0, 1048576],
}]
