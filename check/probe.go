package check

import "github.com/pmcheck/pmcheck/check/puppetclient"

// The name by which the probe itself is explained, and its reasons.
const (
	CheckProbe = "probe"

	// There is no result, or no recent one.
	NotProbed Reason = "not-probed"
	Stale     Reason = "stale"

	// The network path to the master.
	Refused        = Reason(puppetclient.Refused)
	Unreachable    = Reason(puppetclient.Unreachable)
	NameLookup     = Reason(puppetclient.NameLookup)
	Timeout        = Reason(puppetclient.Timeout)
	ConnectionLost = Reason(puppetclient.ConnectionLost)
	TLSFailed      = Reason(puppetclient.TLSFailed)

	// This host's files and certificate.
	OwnFiles           = Reason(puppetclient.OwnFiles)
	OwnFilesMissing    = Reason(puppetclient.OwnFilesMissing)
	OwnFilesInvalid    = Reason(puppetclient.OwnFilesInvalid)
	OwnCertExpired     = Reason(puppetclient.OwnCertExpired)
	OwnCertNotYetValid = Reason(puppetclient.OwnCertNotYetValid)
	OwnCertRevoked     = Reason(puppetclient.OwnCertRevoked)
	OwnCertForeign     = Reason(puppetclient.OwnCertForeign)
	OwnCertRefused     = Reason(puppetclient.OwnCertRefused)

	// The certificate that the master shows, and what it is verified with.
	ServerCertExpired     = Reason(puppetclient.ServerCertExpired)
	ServerCertNotYetValid = Reason(puppetclient.ServerCertNotYetValid)
	ServerCertRevoked     = Reason(puppetclient.ServerCertRevoked)
	ServerCertUntrusted   = Reason(puppetclient.ServerCertUntrusted)
	ServerCertName        = Reason(puppetclient.ServerCertName)
	CAExpired             = Reason(puppetclient.CAExpired)
	CRLExpired            = Reason(puppetclient.CRLExpired)
	CRLMissing            = Reason(puppetclient.CRLMissing)

	// What the master answered.
	BadAnswer              = Reason(puppetclient.BadAnswer)
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
	return Check{
		Name:     CheckProbe,
		Title:    "the request that the verdict is based on",
		Severity: Eject,
		Reasons:  probeCauses(),
	}
}

func probeCauses() []Cause {
	const (
		renewOwn = "renew this host's certificate and keep its dns_alt_names: puppetserver ca clean --certname NAME on the " +
			"CA, puppet ssl clean here, then puppet ssl bootstrap --dns_alt_names NAMES, signed on the CA, whose ca.conf must " +
			"have allow-subject-alt-names; on the CA itself stop puppetserver, move its certificate and keys away, and use " +
			"puppetserver ca generate --ca-client --certname NAME --subject-alt-names NAMES"
		clocks   = "compare this host's clock with the CA's: timedatectl"
		services = "look at /status/v1/services?level=info and puppetserver.log"
	)
	return []Cause{
		{Reason: NotProbed},
		{Reason: Stale},

		{Refused, SideNetwork, "nothing listens there: is the service started? systemctl status puppetserver; " +
			"is the port right? probe.address"},
		{Unreachable, SideNetwork, ""},
		{NameLookup, SideNetwork, "set probe.address to an address, for example 127.0.0.1:8140"},
		{Timeout, SideNetwork, "the port accepts connections but does not answer: look for a full garbage collection, " +
			"a stopped process or more than about 200 waiting requests"},
		{ConnectionLost, SideNetwork, ""},
		{TLSFailed, SideServer, "something other than Puppet Server may have the port: ss -ltnp"},

		{OwnFiles, SideOwn, "pmcheck's user must be able to read the files: add it to the group puppet " +
			"(pe-puppet on PE), then systemctl restart pmcheck; to ask by hand, use sudo"},
		{OwnFilesMissing, SideOwn, "is certname right? pmcheck config shows it, and the paths; if it is, the host " +
			"has no certificate yet: puppet ssl bootstrap"},
		{OwnFilesInvalid, SideOwn, "the file that the detail names is damaged, or does not match the others: restore it; " +
			"Puppet Server will not start with it either"},
		{OwnCertExpired, SideOwn, renewOwn},
		{OwnCertNotYetValid, SideOwn, clocks},
		{OwnCertRevoked, SideOwn, renewOwn},
		{OwnCertForeign, SideOwn, renewOwn},
		{OwnCertRefused, SideOwn, "the server's own CRL or CA bundle may be out of date: see puppetserver.log"},

		{ServerCertExpired, SideServer, "renew the server's certificate, then restart puppetserver: it loads a " +
			"certificate only then"},
		{ServerCertNotYetValid, SideServer, clocks},
		{ServerCertRevoked, SideServer, ""},
		{ServerCertUntrusted, SideServer, "the master's certificate does not come from the CA in probe.ca: were the " +
			"CA or the certificate replaced without a restart?"},
		{ServerCertName, SideServer, "set probe.certname to a name in the master's certificate, one that no " +
			"other master has if there is one"},
		{CAExpired, SideServer, ""},
		{CRLExpired, SideCRL, "agents are refused: copy the CA's current CRL over this master's (puppet config print " +
			"hostcrl), which Puppet Server reloads; on the CA renew it first"},
		{CRLMissing, SideCRL, "puppet ssl bootstrap fetches a CRL that is missing; or set " +
			"certificate_revocation in puppet.conf"},

		{AuthDenied, SideAuth, "auth.conf lacks the rules for /status/v1/services and /status/v1/simple " +
			"(allow-unauthenticated: true); agents may still be served"},
		{NoStatusAPI, SideServer, "the server may be restarting; if this persists, the status service is missing " +
			"from bootstrap.cfg"},
		{ServiceNotFound, SideServer, "the server does not run that service: see /status/v1/services and its " +
			"bootstrap.cfg"},
		{HTTPError, SideServer, ""},
		{BadAnswer, SideServer, ""},
		{StateError, SideServer, services},
		{StateStarting, SideServer, ""},
		{StateStopping, SideServer, ""},
		{StateUnknown, SideServer, services},
	}
}
