# @summary The certificate for balancers: none, the host's Puppet certificate, or two files.
type Pmcheck::Tls = Enum['off', 'puppet', 'files']
