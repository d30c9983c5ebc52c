# @summary The section `budget` of pmcheck.yaml: how many masters of a pool may be out.
type Pmcheck::Budget = Struct[{
    Optional['database'] => Pattern[/\Apostgres(ql)?:\/\/\S+\z/],
    Optional['pool']     => Pattern[/\A[0-9A-Za-z][0-9A-Za-z._-]{0,63}\z/],
    Optional['lapse']    => Pmcheck::Duration,
}]
