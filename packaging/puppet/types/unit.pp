# @summary The section `unit` of pmcheck.yaml: the master's unit in systemd.
type Pmcheck::Unit = Struct[{
    Optional['names'] => Array[Pattern[/\A[A-Za-z0-9:_.@-]+\.service\z/], 1],
}]
