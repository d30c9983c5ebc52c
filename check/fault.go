package check

import (
	"errors"
	"fmt"
	"io/fs"
)

// Reason is a short code for why a master is as it is. The set is closed and
// safe to show to anybody: a reason never carries outside input.
type Reason string

// The reasons, by the side at fault.
const (
	OK Reason = "ok"

	// Nobody knows: there is no result, or none young enough.
	NotProbed Reason = "not-probed"
	Stale     Reason = "stale"

	// The way to the master.
	Refused        Reason = "refused"
	Unreachable    Reason = "unreachable"
	NameLookup     Reason = "name-lookup"
	Timeout        Reason = "timeout"
	ConnectionLost Reason = "connection-lost"
	TLSFailed      Reason = "tls-failed"

	// Our own files and certificate.
	OwnFiles           Reason = "own-files-unreadable"
	OwnFilesMissing    Reason = "own-files-missing"
	OwnCertExpired     Reason = "own-certificate-expired"
	OwnCertNotYetValid Reason = "own-certificate-not-yet-valid"
	OwnCertRevoked     Reason = "own-certificate-revoked"
	OwnCertForeign     Reason = "own-certificate-of-another-ca"
	OwnCertRefused     Reason = "own-certificate-refused"

	// The certificate the master shows, and what it is verified with.
	ServerCertExpired     Reason = "server-certificate-expired"
	ServerCertNotYetValid Reason = "server-certificate-not-yet-valid"
	ServerCertRevoked     Reason = "server-certificate-revoked"
	ServerCertUntrusted   Reason = "server-certificate-untrusted"
	ServerCertName        Reason = "server-certificate-name"
	CAExpired             Reason = "ca-expired"
	CRLExpired            Reason = "crl-expired"
	CRLMissing            Reason = "crl-missing"

	// What the master said.
	AuthDenied      Reason = "auth-denied"
	NoStatusAPI     Reason = "no-status-api"
	ServiceNotFound Reason = "service-not-found"
	HTTPError       Reason = "http-error"
	BadAnswer       Reason = "bad-answer"
	StateError      Reason = "state-error"
	StateStarting   Reason = "state-starting"
	StateStopping   Reason = "state-stopping"
	StateUnknown    Reason = "state-unknown"

	// What the checks beside the probe find.
	NotKnown           Reason = "not-known" // the check could not find out
	JRubyUnread        Reason = "jruby-not-read"
	JRubyWarming       Reason = "jruby-warming"
	JRubyBusy          Reason = "jruby-busy"
	JRubyStuck         Reason = "jruby-stuck"
	JRubyLocked        Reason = "jruby-locked"
	UnitReloading      Reason = "unit-reloading"
	UnitStarting       Reason = "unit-starting"
	UnitStopping       Reason = "unit-stopping"
	UnitFailed         Reason = "unit-failed"
	ExpiresSoon        Reason = "expires-soon"
	Expired            Reason = "expired"
	CertificateOnDisk  Reason = "certificate-not-loaded"
	DiskLow            Reason = "disk-low"
	DiskFull           Reason = "disk-full"
	PuppetDBDown       Reason = "puppetdb-down"
	PuppetDBMaintained Reason = "puppetdb-maintenance"
	DeployFailed       Reason = "deploy-failed"
	DeployUnderWay     Reason = "deploy-under-way"
	CompileFailed      Reason = "compile-failed"
	CompileSlow        Reason = "compile-slow"
)

// Side says whose affair a fault is.
type Side string

// The sides of a probe.
const (
	SideNetwork Side = "network" // the way to the master, or nobody listening
	SideOwn     Side = "own"     // this host's files and certificate
	SideServer  Side = "server"  // the master and its certificate
	SideCRL     Side = "crl"     // the certificate revocation list
	SideAuth    Side = "auth"    // the master's auth.conf
)

// Fault is why a probe did not find the master well. It is an error; Unwrap
// gives the cause, if there was one.
type Fault struct {
	Reason Reason
	Detail string // one sentence that names the thing
	Err    error  // the cause, or nil
}

// Error gives the detail, or the bare reason.
func (f *Fault) Error() string {
	switch {
	case f.Detail == "" && f.Err == nil:
		return string(f.Reason)
	case f.Detail == "":
		return f.Err.Error()
	case f.Err == nil:
		return f.Detail
	}
	return fmt.Sprintf("%s: %v", f.Detail, f.Err)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Definite tells a fault that says what is wrong from silence: a master that
// did not answer in time may merely be slow.
func (f *Fault) Definite() bool { return f.Reason != Timeout }

// Health is what the fault means for the master. Where the fault is ours, or
// in the master's auth.conf, nothing is known of the master itself.
func (f *Fault) Health() Health {
	switch f.Reason.Side() {
	case SideOwn, SideAuth:
		return Unknown
	}
	if f.Reason == StateStarting {
		return Warming
	}
	return Unhealthy
}

// ownFilesFault is that of a set of Files that cannot be used.
func ownFilesFault(err error) *Fault {
	if errors.Is(err, fs.ErrNotExist) {
		return &Fault{Reason: OwnFilesMissing, Err: err}
	}
	return &Fault{Reason: OwnFiles, Err: err}
}

// Side returns whose affair the reason is.
func (r Reason) Side() Side {
	switch r {
	case Refused, Unreachable, NameLookup, Timeout, ConnectionLost:
		return SideNetwork
	case OwnFiles, OwnFilesMissing, OwnCertExpired, OwnCertNotYetValid, OwnCertRevoked, OwnCertForeign, OwnCertRefused:
		return SideOwn
	case CRLExpired, CRLMissing:
		return SideCRL
	case AuthDenied:
		return SideAuth
	}
	return SideServer
}
