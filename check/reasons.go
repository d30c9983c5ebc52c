package check

import "slices"

// Reasons returns every reason but OK, by the check that gives it, in the order of
// Names. NotKnown, which all checks give, is the first.
func Reasons() []Reason {
	list := []Reason{NotKnown}
	for _, name := range Names() {
		list = append(list, reasonsOf(name)...)
	}
	return list
}

// Check returns the name of the check that gives the reason; empty for OK, for
// NotKnown, which all of them give, and for what is no reason.
func (r Reason) Check() string {
	for _, name := range Names() {
		if slices.Contains(reasonsOf(name), r) {
			return name
		}
	}
	return ""
}

// reasonsOf lists the reasons that a check is the first to give.
func reasonsOf(name string) []Reason {
	switch name {
	case CheckProbe:
		return []Reason{
			NotProbed, Stale,
			Refused, Unreachable, NameLookup, Timeout, ConnectionLost, TLSFailed,
			OwnFiles, OwnFilesMissing, OwnCertExpired, OwnCertNotYetValid, OwnCertRevoked, OwnCertForeign, OwnCertRefused,
			ServerCertExpired, ServerCertNotYetValid, ServerCertRevoked, ServerCertUntrusted, ServerCertName,
			CAExpired, CRLExpired, CRLMissing,
			AuthDenied, NoStatusAPI, ServiceNotFound, HTTPError, BadAnswer, StateError, StateStarting, StateStopping, StateUnknown,
		}
	case CheckJRuby:
		return []Reason{JRubyUnread, JRubyWarming, JRubyBusy, JRubyStuck, JRubyLocked}
	case CheckUnit:
		return []Reason{UnitReloading, UnitStarting, UnitStopping, UnitFailed}
	case CheckExpiry:
		return []Reason{ExpiresSoon, Expired}
	case CheckLoaded:
		return []Reason{CertificateOnDisk}
	case CheckDisk:
		return []Reason{DiskLow, DiskFull}
	case CheckCode:
		return []Reason{DeployFailed, DeployUnderWay}
	case CheckPuppetDB:
		return []Reason{PuppetDBDown, PuppetDBMaintained}
	case CheckCompile:
		return []Reason{CompileFailed, CompileSlow}
	}
	return nil
}
