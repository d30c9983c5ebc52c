package check

import pc "github.com/pmcheck/pmcheck/check/puppetclient"

// The name by which the probe itself is explained, and its reasons. The reasons why a request fails are in package
// puppetclient.
const (
	CheckProbe = "probe"

	// There is no result, or no recent one.
	NotProbed Reason = "not-probed"
	Stale     Reason = "stale"

	// The master answers on a kept connection, and accepts no new one.
	NotAccepting Reason = "not-accepting"

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
		renewOwn = "renew this host's certificate: puppetserver ca clean --certname NAME on the CA, here puppet ssl clean " +
			"and puppet ssl bootstrap --dns_alt_names NAMES; on the CA itself puppetserver ca generate --ca-client"
		clocks   = "compare this host's clock with the CA's: timedatectl"
		services = "look at /status/v1/services?level=info and puppetserver.log"
	)
	return Check{
		Name:     CheckProbe,
		Severity: Eject,
		Reasons: []Cause{
			{NotProbed, ""},
			{Stale, ""},

			{pc.Refused, "is the service started, and probe.address right? systemctl status puppetserver"},
			{pc.Unreachable, ""},
			{pc.NameLookup, "set probe.address to an address, for example 127.0.0.1:8140"},
			{pc.Timeout, "look for a full garbage collection, a stopped process, or some 200 requests that wait"},
			{pc.ConnectionLost, "see puppetserver.log: an exit, or No supported Cipher Suite after an update of Java"},
			{NotAccepting, "are descriptors left? compare /proc/PID/fd with LimitNOFILE=, then restart puppetserver"},
			{pc.TLSFailed, "does something else have the port (ss -ltnp), or does webserver.conf allow DHE ciphers only, " +
				"which pmcheck lacks? add ECDHE to cipher-suites"},

			{pc.OwnFiles, "add pmcheck's user to the group puppet (pe-puppet on PE) and restart pmcheck; by hand, use sudo"},
			{pc.OwnFilesMissing, "is certname right in pmcheck config? then there is no certificate yet: puppet ssl bootstrap"},
			{pc.OwnFilesNotKnown, "see the check identity: puppet.conf does not say where they are"},
			{pc.OwnFilesInvalid, "restore the file that the detail names: Puppet Server will not start with it either"},
			{pc.OwnCertExpired, renewOwn},
			{pc.OwnCertNotYetValid, clocks},
			{pc.OwnCertRevoked, renewOwn},
			{pc.OwnCertForeign, renewOwn},
			{pc.OwnCertRefused, "the server's own CRL or CA bundle may be out of date: see puppetserver.log"},

			{pc.ServerCertExpired, "renew the server's certificate, then restart puppetserver: it loads one only then"},
			{pc.ServerCertNotYetValid, clocks},
			{pc.ServerCertRevoked, ""},
			{pc.ServerCertUntrusted, "were the CA in probe.ca or the master's certificate replaced without a restart?"},
			{pc.ServerCertName, "set probe.certname to a name in the master's certificate, if possible its own"},
			{pc.CAExpired, ""},
			{pc.CRLExpired, "renew it on the CA, then copy it to this master (puppet config print hostcrl), which reloads it"},
			{pc.CRLMissing, "puppet ssl bootstrap fetches it; or set certificate_revocation in puppet.conf"},

			{AuthDenied, "restore the rules of auth.conf for /status/v1/services and /status/v1/simple"},
			{NoStatusAPI, "unless the server is restarting, its bootstrap.cfg lacks the status service"},
			{ServiceNotFound, "see which services the server runs: /status/v1/services, and its bootstrap.cfg"},
			{HTTPError, ""},
			{pc.BadAnswer, ""},
			{StateError, services},
			{StateStarting, ""},
			{StateStopping, ""},
			{StateUnknown, services},
		},
	}
}
