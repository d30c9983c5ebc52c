//go:build linux

package e2e_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// testZeroConfiguration: Puppet's own configuration is all that pmcheck needs.
func testZeroConfiguration(t *testing.T, s *lab.PuppetServer) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s})

	t.Run("config", func(t *testing.T) {
		files := s.CertFiles(s.Certname())
		want := map[string]string{
			"probe.address":     "localhost:" + lab.Port(t, s.Address()),
			"probe.certname":    s.Certname(),
			"probe.certificate": files.Cert,
			"probe.key":         files.Key,
			"probe.ca":          files.CA,
			"probe.crl":         files.CRL,
		}
		got := map[string]string{}
		for _, setting := range readConfig(r).Settings {
			if want[setting.Key] != "" {
				got[setting.Key] = setting.Value
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what pmcheck finds in puppet.conf (- want, + got):\n%s", diff)
		}
	})
	t.Run("check", func(t *testing.T) {
		out, status := r.Run("check")
		measured(t, "pmcheck check", firstLine(out))
		if status != 0 || !strings.HasPrefix(strings.Join(strings.Fields(out), " "), "verdict healthy ") {
			t.Errorf("exit status %d, want 0 and the verdict healthy:\n%s", status, out)
		}
	})
	t.Run("check --json", func(t *testing.T) {
		out, status := r.Run("check", "--json")
		var report struct {
			Health check.Health
			Reason check.Reason
			Probe  lab.ProbeStatus
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		measured(t, "one probe, handshake included", time.Duration(report.Probe.Took*float64(time.Second)))
		if status != 0 || report.Health != check.Healthy || report.Reason != check.OK ||
			report.Probe.API != check.APISimpleServer {
			t.Errorf("exit status %d, want 0, and healthy by simple/server:\n%s", status, out)
		}
	})
}

// configReport is the part of pmcheck config --json that tests need.
type configReport struct {
	Settings []struct{ Key, Value, Origin string }
}

func readConfig(r *lab.Site) configReport {
	r.TB.Helper()
	var report configReport
	r.RunJSON(&report, "config", "--json")
	return report
}

// documented returns the times that pmcheck itself documents until a balancer with this
// line marks a master DOWN: one that was killed, and one that stopped answering.
func documented(r *lab.Site, l line) (killed, silent time.Duration) {
	r.TB.Helper()
	var report struct {
		Detection struct {
			Killed float64 `json:"killed_seconds"`
			Silent float64 `json:"silent_seconds"`
		}
	}
	r.RunJSON(&report, "config", "--json", "--inter", l.inter.String(), "--fall", strconv.Itoa(l.fall))
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return seconds(report.Detection.Killed), seconds(report.Detection.Silent)
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
