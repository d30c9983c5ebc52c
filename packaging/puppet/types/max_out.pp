# @summary How many masters of a pool may be out: a number, or a percentage such as '5%'.
type Pmcheck::Max_out = Variant[Integer[1, 1000], Pattern[/\A([1-9]|[1-9][0-9]|100)%\z/]]
