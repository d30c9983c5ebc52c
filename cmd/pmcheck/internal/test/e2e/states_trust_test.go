package e2e_test

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// testStateOfCRL is for the table; testExpiredCRL has the rest.
func testStateOfCRL(t *testing.T, s *lab.PuppetServer, seen *sights) {
	r := serve(t, puppetConf(s.PuppetConf()))
	t.Cleanup(s.RenewCRL)
	s.ExpireCRL()
	took := r.awaitRefusal("unhealthy: crl-expired", 20*time.Second)
	seen.add("CRL expired", refuses("unhealthy: crl-expired"), took, curl(s))
	s.RenewCRL()
	r.await(http.StatusOK, answer.Serving, 20*time.Second)
}

// testRenewed: Puppet Server goes on with the certificate that it started with.
func testRenewed(t *testing.T, s *lab.PuppetServer, seen *sights) {
	r := serve(t, puppetConf(s.PuppetConf()))
	r.awaitFinding(check.CheckLoaded, check.OK, 10*time.Second)
	s.IssueCert(s.Certname(), func(c *x509.Certificate) { c.NotAfter = c.NotAfter.AddDate(1, 0, 0) })
	took := r.awaitFinding(check.CheckLoaded, check.CertificateOnDisk, time.Minute)
	seen.add("certificate renewed on disk, not loaded", serves(string(check.CertificateOnDisk)), took, curl(s))
	if code, body, err := r.ask("/"); code != http.StatusOK || err != nil {
		t.Errorf("balancers are told %d %q, %v; want 200: the old certificate is good still", code, body, err)
	}
	measured(t, "certificate not loaded, in words", finding(r.status(), check.CheckLoaded).Detail)
}

// testStart: the port is open and says running with the first of the JRubies.
// The server starts without the CA service, which is another question.
func testStart(t *testing.T, s *lab.PuppetServer, seen *sights) {
	r := serve(t, puppetConf(s.PuppetConf())+"services: [ca]\n")
	ca := func() string {
		code, body, err := r.ask("/ca")
		return fmt.Sprint(code, " ", body, errText(err))
	}
	awaitCA := func(want string) {
		t.Helper()
		lab.RetryUntil(t, 10*time.Second, 10*time.Millisecond, func() error {
			if got := ca(); got != want {
				return fmt.Errorf("/ca: %s, want %s", got, want)
			}
			return nil
		})
	}
	awaitCA("200 " + answer.Serving)
	s.Kill()
	r.awaitRefusal("unhealthy: refused", 5*time.Second)
	disableCA(t, s)
	d, stop := observe(func() (int, string, error) { return r.ask("/") })
	defer stop()
	s.Start()
	s.WaitReady(5 * time.Minute)
	began := time.Now()
	r.awaitRefusal("warming: jruby-warming", 20*time.Second)
	seen.add(fmt.Sprintf("started, not all of %d JRubies are ready", jrubies), refuses("warming: jruby-warming"), time.Since(began), curl(s))
	measured(t, "warming, in words", r.status().Services[0].Verdict.Detail)
	const noCA = "unhealthy: service-not-found"
	awaitCA("503 " + noCA)
	seen.add("CA service disabled", "`/ca` "+refuses(noCA)+", `/server` 200", time.Since(began), curl(s))

	r.await(http.StatusOK, answer.Serving, time.Minute)
	measured(t, "running to 200", time.Since(began))
	ready := finding(r.status(), check.CheckJRuby).Value
	if want := fmt.Sprintf("%d of %d ready", jrubies, jrubies); !strings.HasPrefix(ready, want) {
		t.Errorf("200 with %q, want %s", ready, want)
	}
	stop()
	measured(t, "told while it starts", d.told())
	if _, after, _ := strings.Cut(d.told(), "200"); after != " "+answer.Serving {
		t.Errorf("balancers are told %s; want 200 at the end only", d.told())
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// disableCA configures a server as a compile server of another's CA.
func disableCA(t *testing.T, s *lab.PuppetServer) {
	t.Helper()
	files := s.CertFiles(s.Certname())
	for name, content := range map[string]string{
		"services.d/ca.cfg": "puppetlabs.services.ca.certificate-authority-disabled-service/certificate-authority-disabled-service\n" +
			"puppetlabs.trapperkeeper.services.watcher.filesystem-watch-service/filesystem-watch-service\n",
		"conf.d/tls.conf": fmt.Sprintf("webserver: { ssl-cert: %q, ssl-key: %q, ssl-ca-cert: %q, ssl-crl-path: %q }\n",
			files.Cert, files.Key, files.CA, files.CRL),
	} {
		if err := os.WriteFile(filepath.Join(s.Dir, "server", name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
