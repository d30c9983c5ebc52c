//go:build linux

package lab_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const denyServices = `{
    match-request: { path: "/status/v1/services", type: path }
    deny: "*", sort-order: 400, name: "no services"
}`

// TestPuppetServerServesAndFailsAsAsked uses one server for all subtests, since each start
// takes about 15 s.
func TestPuppetServerServesAndFailsAsAsked(t *testing.T) {
	lab.Real(t)
	t.Parallel() // with TestPuppetMastersOfOneCAServeTheSameAgents, which also mostly waits for starts
	s := lab.StartPuppetServer(t, lab.PuppetServerOptions{
		MaxActiveInstances: 2,
		Settings:           map[string]string{"environment_timeout": "0"},
		AccessRules:        denyServices,
	})
	t.Logf("first start: %v", s.WaitReady(2*time.Minute))

	t.Run("status", func(t *testing.T) {
		if code, body, err := s.CurlStatus(); code != http.StatusOK || body != "running" || err != nil {
			t.Errorf("anonymous status: %d %q, %v; want 200 running", code, body, err)
		}
		// Jetty writes the log line after it has answered.
		lab.WaitFor(t, 10*time.Second, 20*time.Millisecond, func() error {
			if n := s.Requests("/status/v1/simple"); n < 2 {
				return fmt.Errorf("%d status requests in the access log, want those of WaitReady and curl:\n%q", n, s.AccessLog())
			}
			return nil
		})
		if n := s.Requests("/status/v1/services"); n != 0 {
			t.Errorf("%d requests for services in the access log, want none", n)
		}
	})
	t.Run("options", func(t *testing.T) {
		if code, body, err := s.Get("", "/status/v1/services"); code != http.StatusForbidden {
			t.Errorf("a path denied by AccessRules: %d %s, %v; want 403", code, body, err)
		}
		if conf := lab.Read(t, s.PuppetConf()); !strings.Contains(conf, "environment_timeout = 0\n") {
			t.Errorf("Settings are not in puppet.conf:\n%s", conf)
		}
	})
	t.Run("compile", func(t *testing.T) {
		s.IssueCert("agent.lab.example", nil)
		s.SetSitePP("notify { 'hello from the lab': }\n")
		if err := compile(s, "agent.lab.example"); err != nil {
			t.Error(err)
		}
		s.SetSitePP("this is no manifest {\n")
		if err := compile(s, "agent.lab.example"); err == nil {
			t.Error("a broken manifest compiles")
		}
		s.SetSitePP("")
	})
	t.Run("revoked certificate", func(t *testing.T) {
		s.IssueCert("gone.lab.example", nil)
		if err := compile(s, "gone.lab.example"); err != nil {
			t.Fatal(err)
		}
		s.RevokeCert("gone.lab.example")
		took := lab.WaitFor(t, 20*time.Second, 100*time.Millisecond, refused(s, "gone.lab.example"))
		t.Logf("revocation seen after %v", took)
		// The server may still be loading the list.
		lab.WaitFor(t, 20*time.Second, 100*time.Millisecond, func() error { return compile(s, "agent.lab.example") })
	})
	t.Run("expired CRL", func(t *testing.T) {
		s.ExpireCRL()
		took := lab.WaitFor(t, 20*time.Second, 100*time.Millisecond, refused(s, "agent.lab.example"))
		t.Logf("expired list seen after %v", took)
		lab.WaitFor(t, 20*time.Second, 100*time.Millisecond, func() error {
			if _, body, err := s.CurlStatus(); body != "running" {
				return fmt.Errorf("anonymous status with an expired CRL: %q, %v; want running", body, err)
			}
			return nil
		})
		s.RenewCRL()
		lab.WaitFor(t, 20*time.Second, 100*time.Millisecond, func() error { return compile(s, "agent.lab.example") })
	})
	t.Run("frozen with SIGSTOP", func(t *testing.T) {
		s.Signal(syscall.SIGSTOP)
		_, _, err := s.CurlStatus()
		s.Signal(syscall.SIGCONT)
		if err == nil {
			t.Error("a frozen server answers")
		}
		s.WaitReady(10 * time.Second)
	})
	t.Run("killed and started again", func(t *testing.T) {
		before := lab.Read(t, s.CertFiles(s.Certname()).Cert)
		pid := s.Pid()
		s.Kill()
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d after Kill: %v, want it gone", pid, err)
		}
		if _, _, err := s.CurlStatus(); err == nil {
			t.Error("a killed server answers")
		}
		s.Start()
		t.Logf("second start: %v", s.WaitReady(2*time.Minute))
		if after := lab.Read(t, s.CertFiles(s.Certname()).Cert); after != before {
			t.Error("the second start made a new certificate")
		}
		start := time.Now()
		s.Stop(time.Minute)
		t.Logf("stop: %v", time.Since(start))
	})
}

// compile requests the catalog of certname as its agent does.
func compile(s *lab.PuppetServer, certname string) error {
	code, body, err := s.Get(certname, "/puppet/v3/catalog/"+certname+"?environment=production")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("catalog: %d %s", code, body)
	}
	return err
}

// refused returns nil once the server no longer accepts the certificate.
func refused(s *lab.PuppetServer, certname string) func() error {
	return func() error {
		if code, _, err := s.Get(certname, "/status/v1/simple"); err == nil {
			return fmt.Errorf("the server still answers %s with %d", certname, code)
		}
		return nil
	}
}
