# @summary The name of a service of the master's Status API.
type Pmcheck::Service = Pattern[/\A[a-z0-9][a-z0-9._-]{0,63}\z/]
