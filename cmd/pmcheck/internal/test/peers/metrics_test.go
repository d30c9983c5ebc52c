//go:build linux

package peers_test

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// view returns the header that HAProxy sends with http-check send-state.
func view(node string) http.Header {
	return http.Header{"X-Haproxy-Server-State": {
		"UP; address=192.0.2.11; port=8140; name=puppet/m1; node=" + node + "; weight=1/2; scur=2/4; qcur=0"}}
}

func TestMetricsPassPromtool(t *testing.T) {
	lab.Real(t)
	promtool := lab.Need(t, "promtool", "prometheus")
	d := lab.StartDemo(t, network(t, first), first)
	if code, _, err := d.Get("/", view("lb1")); code != http.StatusOK || err != nil {
		t.Fatalf("%d, %v", code, err)
	}
	for _, step := range []struct{ word, body string }{
		{"running", serving},
		{"starting", "warming: state-starting"},
		{"denied", "unknown: auth-denied"},
		{"stopped", "unhealthy: refused"},
		{"drain", "drain"},
		{"maint", "maint"},
	} {
		d.Type(step.word, step.body)
		check := exec.Command(promtool, "check", "metrics")
		check.Stdin = strings.NewReader(d.Metrics() + "\n")
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: promtool check metrics: %v\n%s", step.word, err, out)
		}
	}
}
