# @summary With which certificate pmcheck answers, if any: none, Puppet's own, or that of two files.
type Pmcheck::Tls = Enum['off', 'puppet', 'files']
