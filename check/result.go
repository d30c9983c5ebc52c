package check

import (
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Result is what one probe found out. It is immutable once returned.
type Result struct {
	Asked time.Time     // when the probe began
	Took  time.Duration // until the answer was read, or the probe gave up
	API   API           // the generation of the API that answered
	URL   string        // what was asked last; empty if nothing could be asked
	// Status is the HTTP status code, 0 without an answer.
	Status int
	// Version is Puppet's version where the API tells it (Puppet 3 to 6).
	Version string
	// Handshake tells a probe that made a new connection from one over the
	// kept connection.
	Handshake bool
	// TLS describes the connection; nil if there was none.
	TLS *TLS
	// Own describes the certificate that the probe offers; nil if it could not be read.
	Own *Certificate
	// CAs describes the certificates in the CA bundle.
	CAs []Certificate
	// CRLs describes the revocation lists in use, in the order of the file.
	CRLs []CRL
	// Fault is nil if the master answered that it is running.
	Fault *Fault
	// Warning is set while newer files on disk are unusable and the last good
	// ones are in use.
	Warning error
}

// TLS, Certificate and CRL are those of package puppetclient.
type (
	TLS         = puppetclient.TLS
	Certificate = puppetclient.Certificate
	CRL         = puppetclient.CRL
)
