# @summary The section `heap` of pmcheck.yaml: the thresholds for the memory of the JVM.
type Pmcheck::Heap = Struct[{
    Optional['interval']     => Pmcheck::Duration,
    Optional['gc_percent']   => Integer[1, 100],
    Optional['full_percent'] => Integer[1, 100],
    Optional['ahead']        => Pmcheck::Duration,
}]
