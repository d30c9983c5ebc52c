# @summary A time with a unit, such as `2s`, `1m30s` or `30d`.
type Pmcheck::Duration = Pattern[/\A(\d+(\.\d+)?(ms|s|m|h|d|w))+\z/]
