//go:build linux

package peers_test

import (
	"fmt"
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

// A client can use any node name, and choose the status code for a drain.
func TestMetricsAreBoundedWhateverClientsSend(t *testing.T) {
	lab.Real(t)
	const (
		perSource   = 16 * 8 // balancers remembered per source address times series of each
		codes       = 400    // 200 to 599, for each kind of client
		mayBeAdded  = perSource + codes
		clientNames = 300
	)
	d := lab.StartDemo(t, network(t, first), first)
	d.Type("drain", "drain")
	before := series(d.Metrics())
	for i := range clientNames {
		if code, _, err := d.Get("/", view(fmt.Sprintf("lb%d", i))); code != http.StatusServiceUnavailable || err != nil {
			t.Fatalf("%d, %v", code, err)
		}
	}
	for code := 200; code < 600; code++ {
		if _, _, err := d.Get(fmt.Sprintf("/?drain=%d", code), view("lb")); err != nil {
			t.Fatal(err)
		}
	}
	after := series(d.Metrics())
	t.Logf("%d series at first, %d after %d names and 400 codes", before, after, clientNames)
	if after-before > mayBeAdded {
		t.Errorf("clients added %d series, want at most %d", after-before, mayBeAdded)
	}
	if after == before {
		t.Error("clients added no series, so the test did not reach the metrics of balancers")
	}
}

// series counts the samples of pmcheck's own metrics in a scrape.
func series(scrape string) (n int) {
	for line := range strings.Lines(scrape) {
		if strings.HasPrefix(line, "pmcheck_") {
			n++
		}
	}
	return n
}
