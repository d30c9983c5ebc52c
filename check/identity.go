package check

import (
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// The name of the check, and its reasons.
const (
	CheckIdentity = "identity"

	NoPuppet             Reason = "no-puppet"
	PuppetConfUnreadable Reason = "puppet-conf-unreadable"
	PuppetConfMistake    Reason = "puppet-conf-mistake"
	CertnameNotKnown     Reason = "certname-not-known"
	CertificatePending   Reason = "certificate-pending"
)

// IdentitySettings say what could be found out about this host and its master: the master's name, and the files that
// prove the two to each other.
type IdentitySettings struct {
	// Doubt is the reason why Puppet's configuration does not say it; empty if it does. Detail says where, and what is
	// used instead.
	Doubt  Reason `yaml:"-"`
	Detail string `yaml:"-"`
	// Unverified is set if it is not known what to verify the master with.
	Unverified bool `yaml:"-"`
}

func identity() Check {
	return Check{
		Name:     CheckIdentity,
		Severity: Warn,
		Shared:   true,
		Reasons: slices.Concat(
			causes(OfPmcheck, "", "puppet.conf says it, or a setting",
				row{
					reason: NoPuppet,
					begins: "there is no puppet.conf",
					hint:   "install Puppet, or set puppet.conf, or probe.certname, certificate, key, ca and crl",
				},
				row{
					reason: PuppetConfUnreadable,
					begins: "puppet.conf cannot be read",
					hint: "if it is missing, correct the setting puppet.conf; if permission is denied, chmod 0644, as in " +
						"Puppet's packages, or a drop-in if pmcheck's unit hides it",
				},
				row{
					reason: PuppetConfMistake,
					begins: "a line of puppet.conf cannot be resolved",
					hint:   "correct the line; puppet config print --section server shows what Puppet reads",
				},
				row{
					reason: CertnameNotKnown,
					begins: "no certname is known, and the host has several certificates or none",
					hint:   "set certname in [main] of puppet.conf, or probe.certname",
				},
			),
			causes(OfPmcheck, "", "what puppet.conf names is there and fits, or the master refutes what it named last",
				row{
					reason: CertificatePending,
					begins: "puppet.conf names another certname or other files than last, which cannot be used yet",
					hint: "run puppet agent, or sign the certificate on the CA; then " +
						"pmcheck with-hold -- systemctl restart UNIT, as check unit names it",
				},
			),
			causes(OfPmcheck, Unknown, "pmcheck finds out with what to verify the master",
				row{
					reason: puppetclient.NotVerified,
					begins: "nothing is known to verify the master with",
					hint:   "correct what the detail names, or set probe.certname, certificate, key, ca and crl",
				},
			),
		),
		Settings: IdentitySettings{},
		Observe:  Observe(func(s IdentitySettings, _ *Seen) Observer { return s.judge }),
	}
}

// Identity returns what the check identity was told.
func (l List) Identity() IdentitySettings { return settingsOf[IdentitySettings](l) }

// judge never gives the finding a Health: what pmcheck does not know about its own host says nothing about the master.
func (s IdentitySettings) judge(r Result, _ time.Time) Finding {
	f := Finding{Check: CheckIdentity, State: StateOK, Reason: OK, Checked: r.Asked}
	if s.Doubt == "" {
		return f
	}

	f.State = StateWarn
	f.Reason = s.Doubt
	f.Detail = s.Detail
	if s.Unverified {
		f.State = StateBad
		f.Reason = puppetclient.NotVerified
	}
	return f
}

// RefutesIdentity reports whether the fault of a probe shows that the master has another name or another CA, or is of
// another CA than the certificate of this host.
func (r Result) RefutesIdentity() bool {
	if r.Fault == nil {
		return false
	}
	return slices.Contains([]Reason{
		puppetclient.ServerCertName,
		puppetclient.ServerCertUntrusted,
		puppetclient.OwnCertForeign,
		puppetclient.OwnCertRefused,
	}, r.Fault.Reason)
}
