package puppetclient

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
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

// TestOnlyAnUnknownIssuerMakesOurCertificateForeign: a CA that has ended is renewed, and leaves our certificate good.
func TestOnlyAnUnknownIssuerMakesOurCertificateForeign(t *testing.T) {
	now := time.Now()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	sign := func(template, issuer *x509.Certificate) *x509.Certificate {
		return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), key))))
	}
	ca := func(name string, from, until time.Duration) *x509.Certificate {
		template := &x509.Certificate{
			SerialNumber:          big.NewInt(1),
			Subject:               pkix.Name{CommonName: name},
			NotBefore:             now.Add(from),
			NotAfter:              now.Add(until),
			IsCA:                  true,
			BasicConstraintsValid: true,
		}
		return sign(template, template)
	}
	for _, tt := range []struct {
		name string
		ca   *x509.Certificate
		want Reason
	}{
		{"the issuer has ended", ca("Puppet CA", -2*time.Hour, -time.Minute), CAExpired},
		{"the issuer has not begun", ca("Puppet CA", time.Minute, time.Hour), OwnCertNotYetValid},
		{"another CA", ca("Other CA", -time.Hour, time.Hour), OwnCertForeign},
	} {
		leaf := sign(&x509.Certificate{
			SerialNumber: big.NewInt(2),
			Subject:      pkix.Name{CommonName: "m1"},
			NotBefore:    now.Add(-time.Hour),
			NotAfter:     now.Add(time.Hour),
			ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}, ca("Puppet CA", -time.Hour, time.Hour))
		m := &material{own: tls.Certificate{Leaf: leaf}}
		if err := m.parseBundle("ca", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tt.ca.Raw})); err != nil {
			t.Fatal(err)
		}
		if e, is := errors.AsType[*Error](m.trouble(now)); !is || e.Reason != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, e, tt.want)
		}
	}
}
