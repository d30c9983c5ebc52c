# @summary A time with a unit, such as `2s`, `1500ms` or `1m30s`.
type Pmcheck::Duration = Pattern[/\A(\d+(\.\d+)?(ms|s|m|h))+\z/]
