package check

// Hint says what a person can do about the reason; empty where the detail of
// the fault says it all.
func (r Reason) Hint() string {
	switch r {
	case Refused:
		return "nothing listens there: is the service started? systemctl status puppetserver"
	case NameLookup:
		return "set probe.address to an address, for example 127.0.0.1:8140"
	case Timeout:
		return "the port accepts and does not answer: look for a full garbage collection, a stopped process or more than about 200 waiting requests"
	case TLSFailed:
		return "something other than Puppet Server may have the port: ss -ltnp"
	case OwnFiles:
		return "pmcheck's user must be able to read the files: add it to the group puppet (pe-puppet on PE); to ask by hand, use sudo"
	case OwnFilesMissing:
		return "is certname right? pmcheck config shows it, and the paths; if it is, the host has no certificate yet: puppet ssl bootstrap"
	case OwnCertExpired, OwnCertRevoked, OwnCertForeign:
		return "renew this host's certificate: puppet ssl clean, then puppet ssl bootstrap"
	case OwnCertNotYetValid, ServerCertNotYetValid:
		return "compare this host's clock with the CA's: timedatectl"
	case OwnCertRefused:
		return "the server's own CRL or CA bundle may be out of date: see puppetserver.log"
	case ServerCertExpired:
		return "renew the server's certificate, then restart puppetserver: it loads a certificate only then"
	case ServerCertUntrusted:
		return "the master's certificate does not come from the CA in probe.ca: were the CA or the certificate replaced without a restart?"
	case ServerCertName:
		return "set probe.certname to a name in the master's certificate"
	case CRLExpired:
		return "agents are refused: fetch the CA's current CRL (puppet ssl download_crl), on the CA renew it first"
	case CRLMissing:
		return "fetch it with puppet ssl download_crl, or set probe.revocation as certificate_revocation is set in puppet.conf"
	case AuthDenied:
		return "auth.conf lacks the rule for /status/v1/simple (allow-unauthenticated: true); agents may be well"
	case NoStatusAPI:
		return "the server may be between starts; if this stays, the status service is missing from bootstrap.cfg"
	case StateError, StateUnknown:
		return "look at /status/v1/services?level=info and puppetserver.log"
	case ServiceNotFound:
		return "the server does not run that service: see /status/v1/services and its bootstrap.cfg"
	}
	return r.checkHint()
}

// checkHint is Hint for what the checks beside the probe find.
func (r Reason) checkHint() string {
	switch r {
	case JRubyUnread:
		return "wait for a moment; if it stays, see whether /status/v1/services/jruby-metrics?level=debug answers"
	case JRubyWarming:
		return "wait: JRubies start one after another; if some stay away, look for errors in puppetserver.log and for memory (JAVA_ARGS)"
	case JRubyBusy:
		return "more agents than JRubies: raise max-active-instances, add a master, or spread the agents' runs (splay)"
	case JRubyStuck:
		return "look at the oldest loan's request; a hanging generate(), ENC or PuppetDB query holds a JRuby for ever: restart puppetserver to be rid of it"
	case JRubyLocked:
		return "a code deployment holds the pool (file-sync): if it does not end, look at puppetserver.log; lockless deploys avoid it"
	case UnitReloading, UnitStarting, UnitStopping:
		return "wait; to lose no agent run next time, pmcheck drain first"
	case UnitFailed:
		return "journalctl -u puppetserver, then systemctl restart puppetserver"
	case ExpiresSoon:
		return "renew it in time: a certificate with puppet ssl, then restart puppetserver; CA certificates and CRLs on the CA"
	case Expired:
		return "renew it; if nothing uses it any more, remove it from the bundle"
	case CertificateOnDisk:
		return "renewed on disk, not loaded: pmcheck drain, systemctl restart puppetserver, pmcheck ready"
	case DiskLow:
		return "make room before agents fail: old reports, logs, heap dumps (*.hprof) and environments"
	case DiskFull:
		return "make room: df -h and df -i of the directory; if the file system is read-only, see dmesg"
	case PuppetDBDown:
		return "systemctl status puppetdb postgresql; catalogs fail unless soft_write_failure is set"
	case PuppetDBMaintained:
		return "wait: it migrates its database; see puppetdb.log"
	case DeployFailed:
		return "run the deployment again by hand and read its errors: r10k deploy environment NAME -m -v"
	case DeployUnderWay:
		return "wait for the deployment to end"
	case CompileFailed:
		return "puppet agent -t --noop on this host shows the same error; see puppetserver.log"
	case CompileSlow:
		return "see which functions take long: puppet agent -t --noop --profile, or the server's /status/v1/services/puppet-profiler?level=debug"
	}
	return ""
}
