# @summary The name of a certificate, as Puppet allows it.
type Pmcheck::Certname = Pattern[/\A[a-z0-9._-]+\z/]
