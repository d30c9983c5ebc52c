package daemon_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
)

// A package upgrade restarts the daemon and the gate while another master is out: the new
// daemon expects it back, before the gate runs again.
func TestAnUpgradeStillExpectsAMasterBackThatIsOut(t *testing.T) {
	t.Parallel()
	var out atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		server := api.ServiceStatus{Name: monitor.Server, Answer: api.Answer{Code: http.StatusOK}}
		if out.Load() {
			server.Answer.Code = http.StatusServiceUnavailable
		}
		_ = json.NewEncoder(w).Encode(api.Status{Certname: "m2.example.com", Services: []api.ServiceStatus{server}})
	}))
	defer other.Close()
	member := strings.TrimPrefix(other.URL, "http://")
	runtime, gate := t.TempDir(), t.TempDir()
	r := start(t, func(c *config.Config) { c.Fleet = []string{member} })
	looked, err := json.Marshal(api.GateStatus{Looked: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	gateFile := filepath.Join(gate, api.GateFile)
	if err := os.WriteFile(gateFile, looked, 0o600); err != nil {
		t.Fatal(err)
	}
	serves := func(o *api.OthersStatus) bool { return slices.Contains(o.Serving, member) && len(o.Missing) == 0 }
	missing := func(o *api.OthersStatus) bool { return slices.Contains(o.Missing, member) }
	for _, want := range []func(*api.OthersStatus) bool{serves, missing} {
		r.stop()
		r.Daemon = daemon.New(r.config, "test.yaml", "test", slog.New(slog.DiscardHandler))
		r.Runtime, r.GateDir = runtime, gate
		r.serve()
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(pollEvery) {
			o := r.Status(time.Now()).Others
			if o != nil && want(o) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("with the other master out %v, the fleet is %+v", out.Load(), o)
			}
		}
		out.Store(true)
		_ = os.Remove(gateFile)
	}
}

// Without an entry of its own a master has no window of its own, and nothing else would say so.
func TestAFleetWithoutThisMasterIsAWarning(t *testing.T) {
	t.Parallel()
	for member, warned := range map[string]bool{"m1": false, "puppet-a.example.com": true} {
		r := start(t, func(c *config.Config) { c.Probe.Certname, c.Fleet = "m1.example.com", []string{member, "m2"} })
		list := r.Status(time.Now()).Warnings
		if got := strings.Contains(strings.Join(list, "\n"), "fleet does not list this master"); got != warned {
			t.Errorf("fleet of %s and m2: the warnings are %q", member, list)
		}
	}
}
