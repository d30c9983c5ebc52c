package check

import (
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Result is what one probe found out. It is immutable once returned.
type Result struct {
	Asked     time.Time     // when the probe began
	Took      time.Duration // until the answer was read, or the probe gave up
	API       API           // the generation of the API that answered
	URL       string        // what was asked last; empty if nothing could be asked
	Status    int           // the HTTP status code, 0 without an answer
	Version   string        // of Puppet, where the API tells it (Puppet 3 to 6)
	Handshake bool          // tells a probe that made a new connection from one over the kept connection
	TLS       *TLS          // describes the connection; nil if there was none
	Own       *Certificate  // that the probe offers; nil if it could not be read
	CAs       []Certificate // in the CA bundle
	CRLs      []CRL         // in use, in the order of the file
	Fault     *Fault        // nil if the master answered that it is running
	Warning   error         // set while newer files on disk are unusable and the last good ones are in use
}

// TLS, Certificate and CRL are those of package puppetclient.
type (
	TLS         = puppetclient.TLS
	Certificate = puppetclient.Certificate
	CRL         = puppetclient.CRL
)
