package puppetclient

import (
	"errors"
	"io/fs"
)

// Reason is a short code for why a question was not answered. The set is closed,
// and a reason never carries outside input.
type Reason string

// The reasons.
const (
	// The way to the server.
	Refused        Reason = "refused"
	Unreachable    Reason = "unreachable"
	NameLookup     Reason = "name-lookup"
	Timeout        Reason = "timeout"
	ConnectionLost Reason = "connection-lost"
	TLSFailed      Reason = "tls-failed"

	// The client's own files and certificate.
	OwnFiles           Reason = "own-files-unreadable"
	OwnFilesMissing    Reason = "own-files-missing"
	OwnCertExpired     Reason = "own-certificate-expired"
	OwnCertNotYetValid Reason = "own-certificate-not-yet-valid"
	OwnCertRevoked     Reason = "own-certificate-revoked"
	OwnCertForeign     Reason = "own-certificate-of-another-ca"
	OwnCertRefused     Reason = "own-certificate-refused"

	// The server's certificate, and what it is verified with.
	ServerCertExpired     Reason = "server-certificate-expired"
	ServerCertNotYetValid Reason = "server-certificate-not-yet-valid"
	ServerCertRevoked     Reason = "server-certificate-revoked"
	ServerCertUntrusted   Reason = "server-certificate-untrusted"
	ServerCertName        Reason = "server-certificate-name"
	CAExpired             Reason = "ca-expired"
	CRLExpired            Reason = "crl-expired"
	CRLMissing            Reason = "crl-missing"

	// The answer is too long, or is not HTTP.
	BadAnswer Reason = "bad-answer"
)

// Error is why a question was not answered. Unwrap gives the cause, if there was
// one.
type Error struct {
	Reason Reason
	Detail string // one sentence that names the thing; empty if Err does
	Err    error  // the cause, or nil
}

// Error returns the detail and the cause.
func (e *Error) Error() string {
	switch {
	case e.Err == nil:
		return e.Detail
	case e.Detail == "":
		return e.Err.Error()
	}
	return e.Detail + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ownFilesError is that of a set of Files that cannot be used.
func ownFilesError(err error) *Error {
	if errors.Is(err, fs.ErrNotExist) {
		return &Error{Reason: OwnFilesMissing, Err: err}
	}
	return &Error{Reason: OwnFiles, Err: err}
}
