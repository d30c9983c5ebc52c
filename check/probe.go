package check

import pc "github.com/pmcheck/pmcheck/check/puppetclient"

// The name by which the probe itself is explained, and its reasons beside those of package
// puppetclient.
const (
	CheckProbe = "probe"

	// There is no result, or no recent one.
	NotProbed Reason = "not-probed"
	Stale     Reason = "stale"

	// What the master answered.
	AuthDenied      Reason = "auth-denied"
	NoStatusAPI     Reason = "no-status-api"
	ServiceNotFound Reason = "service-not-found"
	HTTPError       Reason = "http-error"
	StateError      Reason = "state-error"
	StateStarting   Reason = "state-starting"
	StateStopping   Reason = "state-stopping"
	StateUnknown    Reason = "state-unknown"
)

func probe() Check {
	const (
		renewOwn = "renew this host's certificate and keep its dns_alt_names: puppetserver ca clean --certname NAME on the " +
			"CA, puppet ssl clean here, then puppet ssl bootstrap --dns_alt_names NAMES, signed on the CA, whose ca.conf must " +
			"have allow-subject-alt-names; on the CA itself stop puppetserver, move its certificate and keys away, and use " +
			"puppetserver ca generate --ca-client --certname NAME --subject-alt-names NAMES"
		clocks   = "compare this host's clock with the CA's: timedatectl"
		services = "look at /status/v1/services?level=info and puppetserver.log"
	)
	return Check{
		Name:     CheckProbe,
		Severity: Eject,
		Reasons: []Cause{
			{NotProbed, ""},
			{Stale, ""},

			{pc.Refused, "nothing listens there: is the service started? systemctl status puppetserver; " +
				"is the port right? probe.address"},
			{pc.Unreachable, ""},
			{pc.NameLookup, "set probe.address to an address, for example 127.0.0.1:8140"},
			{pc.Timeout, "the port accepts connections but does not answer: look for a full garbage collection, " +
				"a stopped process or more than about 200 waiting requests"},
			{pc.ConnectionLost, ""},
			{pc.TLSFailed, "something other than Puppet Server may have the port: ss -ltnp"},

			{pc.OwnFiles, "pmcheck's user must be able to read the files: add it to the group puppet " +
				"(pe-puppet on PE), then systemctl restart pmcheck; to ask by hand, use sudo"},
			{pc.OwnFilesMissing, "is certname right? pmcheck config shows it, and the paths; if it is, the host " +
				"has no certificate yet: puppet ssl bootstrap"},
			{pc.OwnFilesInvalid, "the file that the detail names is damaged, or does not match the others: restore it; " +
				"Puppet Server will not start with it either"},
			{pc.OwnCertExpired, renewOwn},
			{pc.OwnCertNotYetValid, clocks},
			{pc.OwnCertRevoked, renewOwn},
			{pc.OwnCertForeign, renewOwn},
			{pc.OwnCertRefused, "the server's own CRL or CA bundle may be out of date: see puppetserver.log"},

			{pc.ServerCertExpired, "renew the server's certificate, then restart puppetserver: it loads a " +
				"certificate only then"},
			{pc.ServerCertNotYetValid, clocks},
			{pc.ServerCertRevoked, ""},
			{pc.ServerCertUntrusted, "the master's certificate does not come from the CA in probe.ca: were the " +
				"CA or the certificate replaced without a restart?"},
			{pc.ServerCertName, "set probe.certname to a name in the master's certificate, one that no " +
				"other master has if there is one"},
			{pc.CAExpired, ""},
			{pc.CRLExpired, "agents are refused: copy the CA's current CRL over this master's (puppet config print " +
				"hostcrl), which Puppet Server reloads; on the CA renew it first"},
			{pc.CRLMissing, "puppet ssl bootstrap fetches a CRL that is missing; or set " +
				"certificate_revocation in puppet.conf"},

			{AuthDenied, "agents may still be served: restore the rules for /status/v1/services and " +
				"/status/v1/simple (allow-unauthenticated: true)"},
			{NoStatusAPI, "the server may be restarting; if this persists, the status service is missing " +
				"from bootstrap.cfg"},
			{ServiceNotFound, "the server does not run that service: see /status/v1/services and its " +
				"bootstrap.cfg"},
			{HTTPError, ""},
			{pc.BadAnswer, ""},
			{StateError, services},
			{StateStarting, ""},
			{StateStopping, ""},
			{StateUnknown, services},
		},
	}
}
