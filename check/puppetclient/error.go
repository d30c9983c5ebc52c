package puppetclient

import "fmt"

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
	OwnFilesInvalid    Reason = "own-files-invalid"
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

// Error is why a question was not answered.
type Error struct {
	Reason Reason
	Err    error // says so in one sentence that names the thing
}

// Error returns the text of e.Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// failed makes an Error, as fmt.Errorf does.
func failed(r Reason, format string, args ...any) *Error {
	return &Error{r, fmt.Errorf(format, args...)}
}
