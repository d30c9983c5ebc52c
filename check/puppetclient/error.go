package puppetclient

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
)

// Reason is a short code for why a request failed. The set is closed, and a reason
// never contains outside input.
type Reason string

// The reasons.
const (
	// The network path to the server.
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
	OwnFilesNotKnown   Reason = "own-files-not-known"
	OwnCertExpired     Reason = "own-certificate-expired"
	OwnCertNotYetValid Reason = "own-certificate-not-yet-valid"
	OwnCertRevoked     Reason = "own-certificate-revoked"
	OwnCertForeign     Reason = "own-certificate-of-another-ca"
	OwnCertRefused     Reason = "own-certificate-refused"
	// Go cannot parse the certificate. Other programs may.
	OwnCertUnreadable Reason = "own-certificate-unreadable"
	// Some certificates or CRLs in the files cannot be parsed.
	OwnFilesSkipped Reason = "own-files-skipped"
	// The server, which is verified, requires a certificate, and none could be offered.
	CertificateRequired Reason = "certificate-required"

	// The server's certificate, and what it is verified with.
	ServerCertExpired     Reason = "server-certificate-expired"
	ServerCertNotYetValid Reason = "server-certificate-not-yet-valid"
	ServerCertRevoked     Reason = "server-certificate-revoked"
	ServerCertUntrusted   Reason = "server-certificate-untrusted"
	ServerCertName        Reason = "server-certificate-name"
	// Go cannot parse the certificate. Agents may.
	ServerCertUnreadable Reason = "server-certificate-unreadable"
	CAExpired            Reason = "ca-expired"
	CRLExpired           Reason = "crl-expired"
	CRLMissing           Reason = "crl-missing"
	// NotVerified is the reason for a server on another host if it is not known what to verify it with.
	NotVerified Reason = "not-verified"

	// The response is not HTTP.
	BadResponse Reason = "bad-response"
	// The response is longer than a Client reads, and may be a good one.
	ResponseTooLong Reason = "response-too-long"
)

// Error is why a request failed.
type Error struct {
	Reason Reason
	Err    error // one sentence that names what failed; nil if the reason is enough
}

// maxText bounds the text of an error, in bytes: a certificate may have names of any length, and a server any
// number of them.
const maxText = 1000

// Error returns the text of e.Err, made printable, or else the bare reason.
func (e *Error) Error() string {
	if e.Err == nil {
		return string(e.Reason)
	}
	return text.Printable(e.Err.Error(), maxText)
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

func failed(r Reason, format string, args ...any) *Error {
	return &Error{Reason: r, Err: fmt.Errorf(format, args...)}
}

// classify makes an *Error of the error of a failed request. The last connection, if
// there was one, may have recorded more: the alert with which the server ended it.
func classify(err error, m *material, c *conn, address string, now time.Time) error {
	if own, is := errors.AsType[*Error](err); is {
		return own // from our own verification
	}

	alert := err
	if refusal := c.refusal(); refusal != nil {
		alert = refusal
	}
	if !remoteAlert(alert) {
		return networkError(err, address)
	}
	if !refusesCertificate(alert) {
		return failed(TLSFailed, "TLS with %s: %w", address, alert)
	}

	if c != nil {
		if err := c.required(alert); err != nil {
			return err
		}
	}

	// The files may show why the server refuses the certificate.
	if doubt, fault := m.verifyOwn(now); cmp.Or(fault, doubt) != nil {
		return cmp.Or(fault, doubt)
	}
	return failed(OwnCertRefused, "%s refused our certificate %s: %w", address, m.own.Leaf.Subject.CommonName, alert)
}

// networkError makes an *Error of the error of a request that met no TLS alert.
func networkError(err error, address string) *Error {
	if _, is := errors.AsType[*net.DNSError](err); is {
		return &Error{Reason: NameLookup, Err: err}
	}
	if slow, is := errors.AsType[net.Error](err); is && slow.Timeout() {
		return failed(Timeout, "no answer from %s in time", address)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return failed(Refused, "connection to %s refused", address)
	}

	op, isOp := errors.AsType[*net.OpError](err)
	if isOp && op.Op == "dial" {
		return &Error{Reason: Unreachable, Err: err}
	}

	// crypto/tls reports the alerts that this end has sent with this Op.
	weRefuse := isOp && op.Op == "local error"
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	if weRefuse || notTLS {
		return failed(TLSFailed, "TLS with %s: %w", address, err)
	}

	// crypto/tls has no type for this error.
	if strings.Contains(err.Error(), "tls: failed to parse certificate from server") {
		return failed(ServerCertUnreadable, "the certificate of %s, which agents may accept: %w", address, err)
	}

	ends := []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE}
	if slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) }) {
		return failed(ConnectionLost, "%s closed the connection without an answer", address)
	}
	return failed(BadResponse, "the answer from %s: %w", address, err)
}
