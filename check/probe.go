package check

import (
	"slices"

	pc "github.com/pmcheck/pmcheck/check/puppetclient"
)

// The name by which the probe itself is explained, and its reasons. The reasons why a request fails are in package
// puppetclient.
const (
	CheckProbe = "probe"

	// There is no result, or no recent one.
	NotProbed Reason = "not-probed"
	Stale     Reason = "stale"

	// The master answers on a kept connection, and accepts no new one.
	NotAccepting Reason = "not-accepting"
	// The master has answered lately, and accepts connections, but does not answer in time.
	Saturated Reason = "saturated"
	// The master does not answer, and it is not known whether its process accepts connections.
	AcceptNotKnown Reason = "accept-not-known"

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

// The ends of what the probe reports.
const (
	answered = "the master answers that it is running"
	proved   = "a handshake that proves the master, and its answer"
	found    = "pmcheck finds out, or the master answers"
)

// compareClocks is the hint where a certificate is not valid yet.
const compareClocks = "compare this host's clock with the CA's: timedatectl"

func probe() Check {
	return Check{
		Name:     CheckProbe,
		Severity: Eject,
		Needs:    Needs{Families: []string{"AF_INET", "AF_INET6", "AF_NETLINK"}},
		Reasons: slices.Concat(
			unprobed(),
			unanswered(),
			notServing(),
			certificateFaults(),
			saturated(),
			sharedFaults(),
			ownFaults(),
		),
	}
}

// unprobed returns the causes of a verdict for which there is no result, or no recent one.
func unprobed() []Cause {
	return causes(OfPmcheck, Unknown, "a probe says something about the master",
		row{reason: NotProbed, begins: "the daemon has started, and no probe has ended"},
		row{reason: Stale, begins: "no probe has said anything about the master for too long"},
	)
}

// unanswered returns the causes of a master that does not answer, or accepts nothing.
func unanswered() []Cause {
	return causes(OfMaster, Unhealthy, answered,
		row{
			reason: pc.Refused,
			begins: "its port refuses connections",
			hint:   "is the unit that check unit names started, and probe.address right?",
		},
		row{reason: pc.Unreachable, begins: "there is no way to its address"},
		row{
			reason: pc.Timeout,
			begins: "it does not answer, and does not accept connections or has not answered for jruby.stuck_after",
			hint:   "look for a full garbage collection, a stopped process, or some 200 requests that wait",
		},
		row{
			reason: pc.ConnectionLost,
			begins: "it closes the connection without an answer",
			hint:   "see puppetserver.log: an exit, or No supported Cipher Suite after an update of Java",
		},
		row{
			reason: NotAccepting,
			begins: "it answers on a connection that it has, and leaves new ones waiting",
			hint:   "are descriptors left? compare /proc/PID/fd with LimitNOFILE=, then restart Puppet Server",
		},
		row{
			reason: pc.TLSFailed,
			begins: "the TLS handshake fails",
			hint: "does something else have the port (ss -ltnp), or does webserver.conf allow only what pmcheck " +
				"lacks? add TLSv1.2 to ssl-protocols, ECDHE to cipher-suites",
		},
		row{
			reason: pc.OwnCertRefused,
			begins: "it refuses a certificate with which our files find no fault",
			hint:   "the server's own CRL or CA bundle may be out of date: see puppetserver.log",
		},
	)
}

// saturated returns the cause of a master that answers late. Why it does is not known: the check jruby has the last
// count of its JRubies.
func saturated() []Cause {
	return causes(OfMaster, Busy, answered,
		row{
			reason: Saturated,
			begins: "it accepts connections, and has not answered in time, for less than jruby.stuck_after",
			hint: "it has no thread or no processor left: look at the load of the host, and at the requests that wait " +
				"in check jruby",
		},
	)
}

// notServing returns the causes of a master that answers, and says that it does not serve.
func notServing() []Cause {
	const services = "look at /status/v1/services?level=info and puppetserver.log"

	return slices.Concat(
		causes(OfMaster, Unhealthy, answered,
			row{
				reason: NoStatusAPI,
				begins: "404 for every generation of the status API",
				hint:   "unless the server is restarting, its bootstrap.cfg lacks the status service",
			},
			row{
				reason: ServiceNotFound,
				begins: "404 for a service that is configured",
				hint:   "see which services the server runs: /status/v1/services, and its bootstrap.cfg",
			},
			row{reason: HTTPError, begins: "any other HTTP status"},
			row{reason: pc.BadResponse, begins: "an answer that is not HTTP, or not Puppet Server's"},
			row{reason: StateError, begins: "it reports the state error", hint: services},
			row{reason: StateStopping, begins: "it reports the state stopping"},
			row{reason: StateUnknown, begins: "it reports the state unknown", hint: services},
		),
		causes(OfMaster, Warming, answered,
			row{reason: StateStarting, begins: "it reports the state starting"},
		),
	)
}

// certificateFaults returns the causes in the master's certificate, and in the lists by which the master refuses ours.
func certificateFaults() []Cause {
	return causes(OfMaster, Unhealthy, proved,
		row{
			reason: pc.ServerCertExpired,
			begins: "its certificate has expired",
			hint:   "renew the server's certificate, then restart Puppet Server: it loads one only then",
		},
		row{reason: pc.ServerCertNotYetValid, begins: "its certificate is not valid yet", hint: compareClocks},
		row{reason: pc.ServerCertRevoked, begins: "its certificate is on a CRL that could be read"},
		row{
			reason: pc.ServerCertUntrusted,
			begins: "its certificate is not of a CA in the bundle",
			hint:   "were the CA in probe.ca or the master's certificate replaced without a restart?",
		},
		row{
			reason: pc.ServerCertName,
			begins: "its certificate has none of the names that agents use",
			hint:   "set probe.certname to a name in the master's certificate, if possible its own",
		},
		row{
			reason: pc.CRLExpired,
			begins: "it refuses our certificate, and a CRL has expired",
			hint:   "renew it on the CA, then copy it to this master (puppet config print hostcrl), which reloads it",
		},
		row{
			reason: pc.CRLMissing,
			begins: "it refuses our certificate, and our file has no list of a CA",
			hint:   "puppet ssl bootstrap fetches it; or set certificate_revocation in puppet.conf",
		},
	)
}

// sharedFaults returns the causes in what masters share.
func sharedFaults() []Cause {
	return causes(OfPool, Unknown, answered,
		row{
			reason: AuthDenied,
			begins: "403, from something that has not proved that it is the master, or to a probe that has not",
			hint: "if pmcheck asks without a certificate, mend that first; else restore the rules of auth.conf for " +
				"/status/v1/services and /status/v1/simple",
		},
		row{reason: pc.CAExpired, begins: "a CA certificate has expired"},
	)
}

// ownFaults returns the causes in what pmcheck holds, and in its bounds.
func ownFaults() []Cause {
	const renewOwn = "renew this host's certificate: puppetserver ca clean --certname NAME on the CA, here " +
		"puppet ssl clean and puppet ssl bootstrap --dns_alt_names NAMES; on the CA itself puppetserver ca generate " +
		"--ca-client"

	return causes(OfPmcheck, Unknown, found,
		row{
			reason: pc.NameLookup,
			begins: "the name in probe.address does not resolve",
			hint:   "set probe.address to an address, for example 127.0.0.1:8140",
		},
		row{
			reason: AcceptNotKnown,
			begins: "it does not answer, and the kernel does not tell whether it accepts connections",
			hint: "the kernel lacks inet_diag, or the master is on another host: a master with more requests than " +
				"threads cannot be told from one that is stopped",
		},
		row{
			reason: pc.ResponseTooLong,
			begins: "its answer is longer than pmcheck reads",
			hint:   "which requests wait for a JRuby, and from whom? see the access log",
		},
		row{
			reason: pc.OwnFiles,
			begins: "a file of ours cannot be read",
			hint: "mend what the detail names; if permission is denied, and not because pmcheck's unit hides the file, " +
				"add pmcheck's user to the group puppet (pe-puppet on PE) and restart pmcheck; by hand, use sudo",
		},
		row{
			reason: pc.OwnFilesMissing,
			begins: "a file of ours is missing",
			hint: "are certname and paths right in pmcheck config? puppetserver.conf may have another server-var-dir: " +
				"set probe.certificate, key, ca and crl then. Else there is no certificate yet: puppet ssl bootstrap",
		},
		row{
			reason: pc.OwnFilesNotKnown,
			begins: "puppet.conf does not say where our files are",
			hint:   "see the check identity: puppet.conf does not say where they are",
		},
		row{
			reason: pc.OwnFilesInvalid,
			begins: "a file of ours cannot be parsed",
			hint:   "restore the file that the detail names: Puppet Server may not start with it either",
		},
		row{
			reason: pc.OwnFilesSkipped,
			begins: "a certificate or list of ours cannot be parsed",
			hint: "Go cannot parse it, other programs may: replace or remove it. A master whose CA is skipped is not " +
				"verified",
		},
		row{reason: pc.OwnCertExpired, begins: "our certificate has expired", hint: renewOwn},
		row{reason: pc.OwnCertNotYetValid, begins: "our certificate is not valid yet", hint: compareClocks},
		row{reason: pc.OwnCertRevoked, begins: "our certificate is on a CRL", hint: renewOwn},
		row{
			reason: pc.OwnCertForeign,
			begins: "our certificate is not of a CA in the bundle",
			hint:   "is probe.ca in pmcheck config the pool's CA file, and complete? Only then " + renewOwn,
		},
		row{
			reason: pc.OwnCertUnreadable,
			begins: "our certificate cannot be parsed",
			hint:   "Go cannot parse it, other programs may: issue one without what the detail names",
		},
		row{
			reason: pc.CertificateRequired,
			begins: "the master requires a certificate, and none of ours is of use",
			hint:   "repair what the detail names: the master has client-auth: need in webserver.conf",
		},
		row{
			reason: pc.ServerCertUnreadable,
			begins: "the master's certificate cannot be parsed",
			hint:   "Go cannot parse it, agents may: issue one without what the detail names",
		},
	)
}
