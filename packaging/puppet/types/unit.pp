# @summary The section `unit` of pmcheck.yaml: the master's systemd unit.
type Pmcheck::Unit = Struct[{
    Optional['names'] => Array[Pattern[/\A[A-Za-z0-9:_.@-]+\.service\z/], 1],
}]
