# @summary Where the daemon answers, such as `:9200`, `192.0.2.1:9200` or `[2001:db8::1]:9200`. Not a name: systemd binds it.
type Pmcheck::Listen = Pattern[/\A(\[[0-9A-Fa-f:.]+\]|\d+\.\d+\.\d+\.\d+|):\d{1,5}\z/]
