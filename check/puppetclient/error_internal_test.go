package puppetclient

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOnlyAnAlertThatSpeaksOfACertificateBlamesOurs, of RFC 8446, section 6. Java sends 46 for an expired CRL, 40 if no
// cipher suite is shared, 70 if no version is.
func TestOnlyAnAlertThatSpeaksOfACertificateBlamesOurs(t *testing.T) {
	m := &material{own: tls.Certificate{Leaf: &x509.Certificate{
		Subject:  pkix.Name{CommonName: "m1"},
		NotAfter: time.Now().Add(time.Hour),
	}}}
	for alert, want := range map[tls.AlertError]Reason{
		10:  TLSFailed, // unexpected message
		40:  TLSFailed, // handshake failure
		42:  OwnCertRefused,
		43:  OwnCertRefused,
		44:  OwnCertRefused,
		45:  OwnCertRefused,
		46:  OwnCertRefused,
		47:  TLSFailed, // illegal parameter
		48:  OwnCertRefused,
		49:  OwnCertRefused,
		70:  TLSFailed, // protocol version
		71:  TLSFailed, // insufficient security
		80:  TLSFailed, // internal error
		112: TLSFailed, // unrecognized name
		116: OwnCertRefused,
		200: TLSFailed, // not in the RFC
	} {
		err := &net.OpError{Op: "remote error", Err: errors.New(alert.Error())}
		got := classify(fmt.Errorf("http: %w", err), m, nil, "puppet1:8140", time.Now())
		if e := got.(*Error); e.Reason != want || !strings.Contains(e.Error(), alert.Error()) {
			t.Errorf("%s: %s (%s), want %s", alert, e.Reason, e, want)
		}
	}
}

func TestErrorsOfSystemCallsBecomeReasons(t *testing.T) {
	for errno, want := range map[syscall.Errno]Reason{
		syscall.ECONNRESET:   ConnectionLost,
		syscall.ECONNABORTED: ConnectionLost, // as after ss -K
		syscall.EPIPE:        ConnectionLost,
		syscall.EHOSTUNREACH: Unreachable,
		syscall.ECONNREFUSED: Refused,
	} {
		op := "read"
		if want != ConnectionLost {
			op = "dial"
		}
		err := fmt.Errorf("http: %w", &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, errno)})
		if got := networkError(err, "puppet1:8140").Reason; got != want {
			t.Errorf("%s: reason %s, want %s", errno, got, want)
		}
	}
}
