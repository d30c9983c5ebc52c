# @summary A service that is tested with a connection only, such as `pcp=localhost:8142`.
type Pmcheck::Tcpservice = Pattern[/\A[a-z0-9][a-z0-9._-]{0,63}=(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+):\d{1,5}\z/]
