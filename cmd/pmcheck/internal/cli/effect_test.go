package cli

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// The daemon fails until the command has given up looking whether the hold is in effect.
// What it then says about balancers is from before the hold.
func TestWaitForADaemonThatRecoversStartsWithTheHold(t *testing.T) {
	dir := t.TempDir()
	config, socket := filepath.Join(dir, "pmcheck.yaml"), filepath.Join(dir, "s")
	write(t, config, "")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	status := api.Status{
		Services: []api.ServiceStatus{{Name: monitor.Server, Mode: drain.Drain}},
		Probe:    api.ProbeStatus{Address: "127.0.0.1:1"},
		Balancers: []api.Balancer{{
			Source:    netip.MustParseAddr("198.51.100.1"),
			Service:   monitor.Server,
			Seen:      before,
			Checks:    50,
			Interval:  5,
			DrainCode: 503,
			MaintCode: 503,
			Answer:    balancer.Told{Code: 503, Body: "unhealthy: timeout"},
			Answers:   3,
		}},
	}
	var asked atomic.Int64
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) <= 2 { // whether this is the last server, and whether the hold is in effect
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		status.Time = time.Now()
		json.NewEncoder(w).Encode(status)
	})}
	go server.Serve(l)
	defer server.Close()
	var out, said strings.Builder
	exit := Run([]string{"pmcheck", "drain", "--config", config, "--wait=2s"}, environOf(config, socket),
		strings.NewReader(""), &out, &said)
	if exit != exitTimeout || !strings.Contains(said.String(), "198.51.100.1 has not asked since") {
		t.Errorf("exit status %d:\n%s%s", exit, &out, &said)
	}
}
