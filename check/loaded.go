package check

import (
	"fmt"
	"time"
)

// The name of the check, and its reasons.
const (
	CheckLoaded = "loaded"

	CertificateOnDisk Reason = "certificate-not-loaded"
	FilesNotUsed      Reason = "files-not-used"
)

func loaded() Check {
	return Check{
		Name:     CheckLoaded,
		Title:    "the certificate on disk is the one in use",
		Severity: Warn,
		Asks:     "Whether the certificate that the master shows on the wire is the host's certificate on disk.",
		Why: "Puppet Server reloads a CRL by itself, but a certificate only when it starts. One that was renewed is " +
			"not in use, and the old one expires although everything on disk looks right.",
		Because: "agents are served until the old certificate expires; from then on the probe fails.",
		Do: "Repair a file that cannot be used, before any restart. For a certificate that was renewed, " +
			"pmcheck with-hold -- systemctl restart puppetserver.",
		Reasons: []Cause{
			{CertificateOnDisk, "",
				"renewed on disk, not loaded: pmcheck with-hold -- systemctl restart puppetserver"},
			{FilesNotUsed, "", "repair the file that is named, or let pmcheck's user read it; pmcheck keeps using the last " +
				"good files. Puppet Server would not start with a damaged one"},
		},
		Observe: compareLoaded,
	}
}

// compareLoaded compares the certificate that the master shows with the one on disk,
// if the master's certificate is the host's own.
func compareLoaded(r Result, _ time.Time) Finding {
	f := Finding{Check: CheckLoaded, State: StateOK, Reason: OK, Checked: r.Asked}
	if r.Warning != nil {
		f.State, f.Reason, f.Detail = StateWarn, FilesNotUsed, "the files on disk cannot be used: "+r.Warning.Error()
		return f
	}
	if r.Own == nil || r.TLS == nil {
		return f.unknown("there is nothing to compare: no connection, or no certificate on disk")
	}
	shown, own := r.TLS.Server, *r.Own
	f.Value = "serial " + shown.Serial
	switch {
	case shown.Subject != own.Subject:
		return f.unknown("the master shows the certificate of " + shown.Subject + ", ours is that of " + own.Subject)
	case shown.Serial != own.Serial || shown.Issuer != own.Issuer || !shown.NotAfter.Equal(own.NotAfter):
		f.State, f.Reason, f.Threshold = StateWarn, CertificateOnDisk, "serial "+own.Serial
		f.Detail = fmt.Sprintf("the certificate %s was renewed on disk, not loaded: the one in use expires at %s",
			own.Subject, shown.NotAfter.UTC().Format(time.RFC3339))
	}
	return f
}
