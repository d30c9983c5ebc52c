package e2e_test

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// testStateOfCRL: with an expired CRL, Puppet Server refuses every agent and still tells clients without a
// certificate that it is running.
func testStateOfCRL(t *testing.T, s *lab.PuppetServer, seen *stateTable) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	t.Cleanup(s.RenewCRL)
	s.ExpireCRL()
	took := r.WaitRefusal("unhealthy: crl-expired", 20*time.Second)
	seen.add("CRL expired", refuses("unhealthy: crl-expired"), took, curl(t, s))
	s.RenewCRL()
	r.WaitServing(20 * time.Second)
}

// testRenewed: Puppet Server keeps using the certificate with which it started.
func testRenewed(t *testing.T, s *lab.PuppetServer, seen *stateTable) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	r.WaitFinding(check.CheckExpiry, check.OK, 10*time.Second)
	s.IssueCert(s.Certname(), func(c *x509.Certificate) { c.NotAfter = c.NotAfter.AddDate(1, 0, 0) })
	took := r.WaitFinding(check.CheckExpiry, check.CertificateOnDisk, time.Minute)
	seen.add("certificate renewed on disk, not loaded", serves(string(check.CertificateOnDisk)), took, curl(t, s))
	if code, body, err := r.Ask("/"); code != http.StatusOK || err != nil {
		t.Errorf("balancers are told %d %q, %v; want 200: the old certificate is still valid", code, body, err)
	}
}

// testStart: a server that starts answers running as soon as its first JRuby is ready.
// pmcheck waits for all of them. The server starts without the CA service, for a second
// row of the table.
func testStart(t *testing.T, s *lab.PuppetServer, seen *stateTable) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s, YAML: "services: [ca]\n"})
	r.WaitAnswerTo("/ca", http.StatusOK, lab.ServingBody, 10*time.Second)
	s.Kill()
	r.WaitRefusal("unhealthy: refused", 5*time.Second)
	disableCA(t, s)
	d := r.Record(time.Millisecond)
	s.Start()
	s.WaitReady(5 * time.Minute)
	began := time.Now()
	r.WaitRefusal("warming: jruby-warming", 20*time.Second)
	seen.add(fmt.Sprintf("started, not all of %d JRubies are ready", jrubies),
		refuses("warming: jruby-warming"), time.Since(began), curl(t, s))
	const noCA = "unhealthy: service-not-found"
	r.WaitAnswerTo("/ca", http.StatusServiceUnavailable, noCA, 10*time.Second)
	seen.add("CA service disabled", "`/ca` "+refuses(noCA)+", `/server` 200", time.Since(began), curl(t, s))

	r.WaitServing(3 * time.Minute)
	ready := lab.Finding(r.Status(), check.CheckJRuby).Value
	if want := fmt.Sprintf("%d of %d ready", jrubies, jrubies); !strings.HasPrefix(ready, want) {
		t.Errorf("200 with %q, want %s", ready, want)
	}
	d.Stop()
	if _, after, _ := strings.Cut(d.Told(), "200"); after != " "+lab.ServingBody {
		t.Errorf("balancers are told %s; want 200 at the end only", d.Told())
	}
}

// disableCA configures a server as a compile server, whose CA is on another host.
func disableCA(t *testing.T, s *lab.PuppetServer) {
	t.Helper()
	files := s.CertFiles(s.Certname())
	for name, content := range map[string]string{
		"services.d/ca.cfg": lab.NoCAServices,
		"conf.d/tls.conf": fmt.Sprintf("webserver: { ssl-cert: %q, ssl-key: %q, ssl-ca-cert: %q, ssl-crl-path: %q }\n",
			files.Certificate, files.Key, files.CA, files.CRL),
	} {
		lab.Write(t, filepath.Join(s.Dir, "server", name), content)
	}
}
