//go:build linux

package e2e_test

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// handshake is how long it may take until the server refuses a certificate: until it has loaded a
// CRL, and pmcheck makes another connection, as it does every 30 s.
const handshake = 50 * time.Second

// probed is the probe section of a daemon that probes every second, without calm.
const probed = "interval: 1s, timeout: 900ms"

// testExpiredCRL: with an expired CRL, Puppet Server refuses every agent and still
// tells clients without a certificate that it is running. pmcheck answers 503.
func testExpiredCRL(t *testing.T, s *lab.PuppetServer) {
	usual := lab.StartSite(t, lab.SiteOptions{Server: s})
	// The CRL of the other daemon stays valid: only the server's expires.
	good := filepath.Join(t.TempDir(), "crl.pem")
	copyFile(t, s.CertFiles("").CRL, good)
	other := lab.StartSite(t, lab.SiteOptions{
		Server: s,
		YAML:   fmt.Sprintf("probe: {%s, crl: %s}\n", probed, good),
	})

	s.ExpireCRL()
	t.Cleanup(s.RenewCRL)
	measured(t, "CRL expired to 503", usual.WaitRefusal("unhealthy: crl-expired", 20*time.Second))
	measured(t, "CRL of the server alone expired to 503",
		other.WaitRefusal("unknown: own-certificate-refused", handshake))

	code, body, err := s.CurlStatus()
	measured(t, "expired CRL, curl -k of Puppet Server", fmt.Sprintf("%d %s", code, body))
	if code != http.StatusOK || body != "running" || err != nil {
		t.Errorf("curl -k: %d %q, %v; want 200 running, as without a certificate", code, body, err)
	}
	for name, r := range map[string]*lab.Site{"pmcheck": usual, "pmcheck with a good CRL of its own": other} {
		code, body, err := r.Ask("/")
		measured(t, "expired CRL, "+name, fmt.Sprintf("%d %s", code, body))
		if code != http.StatusServiceUnavailable || err != nil {
			t.Errorf("%s: %d, %v; want 503", name, code, err)
		}
	}

	t.Run("the simulated master answers alike", func(t *testing.T) {
		m := lab.StartStandIn(t, lab.StandInName)
		expireCRL(t, m)
		question{path: "/status/v1/simple"}.compare(t, s, m)
		question{path: "/status/v1/simple", anonymous: true}.compare(t, s, m)
	})

	s.RenewCRL()
	measured(t, "CRL renewed to 200", usual.WaitServing(20*time.Second))
	other.WaitServing(20 * time.Second)
}

// expireCRL makes the simulated master load an expired CRL.
func expireCRL(t *testing.T, m *checktest.Master) {
	t.Helper()
	crl, err := m.CA.CRL(time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, m.Files().CRL, crl)
	if err := m.Load(); err != nil {
		t.Fatal(err)
	}
}

// testOwnCertificate: when the server refuses the daemon's certificate, the answer says
// what is wrong with it.
func testOwnCertificate(t *testing.T, s *lab.PuppetServer) {
	expired := s.IssueCert("expired.lab.example", func(c *x509.Certificate) {
		c.NotAfter = time.Now().Add(-time.Hour)
	})
	revoked := s.IssueCert("revoked.lab.example", nil)
	s.RevokeCert("revoked.lab.example")
	for _, test := range []struct {
		reason check.Reason
		files  lab.CertFiles
	}{
		{check.OwnCertExpired, expired},
		{check.OwnCertRevoked, revoked},
		{check.OwnCertForeign, foreign(t)},
	} {
		t.Run(string(test.reason), func(t *testing.T) {
			r := lab.NewSite(t, lab.SiteOptions{
				Server: s,
				YAML: fmt.Sprintf("probe: {%s, certificate: %s, key: %s}\n",
					probed, test.files.Cert, test.files.Key),
			})
			r.Start()
			r.WaitAnswer(http.StatusServiceUnavailable, "unknown: "+string(test.reason), handshake)
			measured(t, "detail of the verdict", r.Status().Services[0].Verdict.Detail)
		})
	}
}

// foreign returns a certificate issued by a CA that the server does not know.
func foreign(t *testing.T) lab.CertFiles {
	t.Helper()
	ca, err := checktest.NewCA("Puppet CA: elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.Issue(checktest.Template{Name: "foreign.lab.example"})
	if err != nil {
		t.Fatal(err)
	}
	key, err := leaf.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := lab.CertFiles{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	writeFile(t, files.Cert, leaf.CertificatePEM())
	writeFile(t, files.Key, key)
	return files
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, to, data)
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
