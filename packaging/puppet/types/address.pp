# @summary Where a master listens, such as `localhost:8140` or `[2001:db8::1]:8140`.
type Pmcheck::Address = Pattern[/\A(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+):\d{1,5}\z/]
