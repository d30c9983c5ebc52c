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
		Reasons: slices.Concat(
			// A fact expires.
			causes(OfPmcheck, Unknown, "a probe says something about the master",
				seen{NotProbed, "the daemon has started, and no probe has ended", ""},
				seen{Stale, "no probe has said anything about the master for too long", ""},
			),

			// It does not answer, or accepts nothing.
			causes(OfMaster, Unhealthy, answered,
				seen{pc.Refused, "its port refuses connections",
					"is the service started, and probe.address right? systemctl status puppetserver"},
				seen{pc.Unreachable, "there is no way to its address", ""},
				seen{pc.Timeout, "it does not answer, and does not accept connections or has not answered for jruby.stuck_after",
					"look for a full garbage collection, a stopped process, or some 200 requests that wait"},
				seen{pc.ConnectionLost, "it closes the connection instead of an answer",
					"see puppetserver.log: an exit, or No supported Cipher Suite after an update of Java"},
				seen{NotAccepting, "it answers on a connection that it has, and leaves new ones waiting",
					"are descriptors left? compare /proc/PID/fd with LimitNOFILE=, then restart puppetserver"},
				seen{pc.TLSFailed, "no TLS connection comes about",
					"does something else have the port (ss -ltnp), or does webserver.conf allow only what pmcheck " +
						"lacks? add TLSv1.2 to ssl-protocols, ECDHE to cipher-suites"},
				seen{pc.OwnCertRefused, "it refuses a certificate with which our files find no fault",
					"the server's own CRL or CA bundle may be out of date: see puppetserver.log"},
			),

			// It answers, and says that it does not serve.
			causes(OfMaster, Unhealthy, answered,
				seen{NoStatusAPI, "404 for every generation of the status API",
					"unless the server is restarting, its bootstrap.cfg lacks the status service"},
				seen{ServiceNotFound, "404 for a service that is configured",
					"see which services the server runs: /status/v1/services, and its bootstrap.cfg"},
				seen{HTTPError, "any other HTTP status", ""},
				seen{pc.BadAnswer, "an answer that is not HTTP, or not Puppet Server's", ""},
				seen{StateError, "it reports the state error", services},
				seen{StateStopping, "it reports the state stopping", ""},
				seen{StateUnknown, "it reports the state unknown", services},
			),
			causes(OfMaster, Warming, answered, seen{StateStarting, "it reports the state starting", ""}),

			// Its certificate.
			causes(OfMaster, Unhealthy, proved,
				seen{pc.ServerCertExpired, "its certificate has ended",
					"renew the server's certificate, then restart puppetserver: it loads one only then"},
				seen{pc.ServerCertNotYetValid, "its certificate has not begun", clocks},
				seen{pc.ServerCertRevoked, "its certificate stands on a list that could be read", ""},
				seen{pc.ServerCertUntrusted, "its certificate is not of a CA in the bundle",
					"were the CA in probe.ca or the master's certificate replaced without a restart?"},
				seen{pc.ServerCertName, "its certificate has none of the names that agents use",
					"set probe.certname to a name in the master's certificate, if possible its own"},
				seen{pc.CRLExpired, "it refuses our certificate, and a list has ended",
					"renew it on the CA, then copy it to this master (puppet config print hostcrl), which reloads it"},
				seen{pc.CRLMissing, "it refuses our certificate, and our file has no list of a CA",
					"puppet ssl bootstrap fetches it; or set certificate_revocation in puppet.conf"},
			),

			// What masters share.
			causes(OfPool, Unknown, answered,
				seen{AuthDenied, "403, from something that has not proved that it is the master, or to a probe that has not",
					"restore the rules of auth.conf for /status/v1/services and /status/v1/simple"},
				seen{pc.CAExpired, "a CA certificate has ended", ""},
			),

			// What pmcheck holds, and its bounds.
			causes(OfPmcheck, Unknown, found,
				seen{pc.NameLookup, "the name in probe.address does not resolve",
					"set probe.address to an address, for example 127.0.0.1:8140"},
				seen{AcceptNotKnown, "it does not answer, and the kernel does not tell whether it accepts connections",
					"the kernel lacks inet_diag, or the master is on another host: a master with more requests than threads " +
						"cannot be told from one that is stopped"},
				seen{pc.AnswerTooLong, "its answer is longer than pmcheck reads",
					"which requests wait for a JRuby, and from whom? see the access log"},
				seen{pc.OwnFiles, "a file of ours cannot be read",
					"unless its unit hides it, add pmcheck's user to the group puppet (pe-puppet on PE) and restart pmcheck; by " +
						"hand, use sudo"},
				seen{pc.OwnFilesMissing, "a file of ours is missing",
					"are certname and paths right in pmcheck config? puppetserver.conf may have another server-var-dir: set " +
						"probe.certificate, key, ca and crl then. Else there is no certificate yet: puppet ssl bootstrap"},
				seen{pc.OwnFilesNotKnown, "puppet.conf does not say where our files are",
					"see the check identity: puppet.conf does not say where they are"},
				seen{pc.OwnFilesInvalid, "a file of ours cannot be parsed",
					"restore the file that the detail names: Puppet Server may not start with it either"},
				seen{pc.OwnFilesSkipped, "a certificate or list of ours cannot be parsed",
					"Go cannot parse it, other programs may: replace or remove it. A master whose CA is skipped is not verified"},
				seen{pc.OwnCertExpired, "our certificate has ended", renewOwn},
				seen{pc.OwnCertNotYetValid, "our certificate has not begun", clocks},
				seen{pc.OwnCertRevoked, "our certificate stands on a list", renewOwn},
				seen{pc.OwnCertForeign, "our certificate is not of a CA in the bundle", renewOwn},
				seen{pc.OwnCertUnreadable, "our certificate cannot be parsed",
					"Go cannot parse it, other programs may: issue one without what the detail names"},
				seen{pc.CertificateRequired, "the master requires a certificate, and none of ours is of use",
					"repair what the detail names: the master has client-auth: need in webserver.conf"},
				seen{pc.ServerCertUnreadable, "the master's certificate cannot be parsed",
					"Go cannot parse it, agents may: issue one without what the detail names"},
			),
		),
	}
}
