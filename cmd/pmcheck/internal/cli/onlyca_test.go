package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// The balancer of catalogs has another server, that of the CA never had one. With --in-turn,
// too, a hold of everything is refused, and at once; one of the service server is not.
func TestTheOnlyCAIsNotHeldInTurn(t *testing.T) {
	const hint = "hint: for catalogs only: --service server; for all services: --force"
	for _, tt := range []struct {
		args string
		exit int
		held string // the services that are held when the command has ended
		says string
	}{
		{"drain", exitRefused, "", hint},
		{"drain --in-turn", exitRefused, "", hint},
		{"drain --in-turn --wait=100ms", exitRefused, "", hint},
		{"maint --in-turn --wait=100ms", exitRefused, "", hint},
		{"with-hold --in-turn --wait=100ms -- true", exitRefused, "", hint},
		{"drain --in-turn --wait=100ms --service ca", exitRefused, "", "hint: bring another master up first"},
		// The way to an idle master is never clear for as long as that.
		{"drain --in-turn --wait=100ms --service server", exitTimeout, "server", "not idle"},
		{"drain --in-turn --wait=100ms --force", exitTimeout, "server ca", "not idle"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			config, socket, store := holdsSite(t)
			startStatus(t, socket, func() api.Status { return onlyCA(store, time.Now()) })
			var out, said strings.Builder
			args := strings.Fields("pmcheck " + tt.args)
			args = append(args[:2:2], append([]string{"--config", config}, args[2:]...)...)
			exit := Run(args, environOf(config, socket), strings.NewReader(""), &out, &said)
			var held []string
			for _, service := range []string{monitor.Server, "ca"} {
				if mode, _ := store.Read().Mode(service, time.Now()); mode != drain.Ready {
					held = append(held, service)
				}
			}
			text := strings.ReplaceAll(said.String(), " --config "+config, "")
			waited := exit == exitRefused && strings.Contains(text, "may leave at")
			if exit != tt.exit || waited || strings.Join(held, " ") != tt.held || !strings.Contains(text, tt.says) {
				t.Errorf("exit status %d, held %q, want %d and %q:\n%s%s", exit, held, tt.exit, tt.held, &out, &said)
			}
		})
	}
}

// onlyCA is a master of two, with the only CA. Balancers notice at once which service is held.
func onlyCA(store *drain.Store, now time.Time) api.Status {
	s := api.Status{Time: now, Started: now.Add(-time.Hour), Probe: api.ProbeStatus{Address: "127.0.0.1:1"}}
	for service, others := range map[string]int{monitor.Server: 100, "ca": 0} {
		mode, _ := store.Read().Mode(service, now)
		b := api.Balancer{Node: "lb1", Name: service + "/m1", Service: service, Seen: now, Checks: 9, Interval: 0.1,
			DrainCode: 404, UnitWeight: 100, View: &api.View{State: "UP", Weight: 100, WeightTotal: 100 + others}}
		if others > 0 {
			b.OthersWeight, b.OthersSeen = others, now
		}
		if mode != drain.Ready {
			b.View.State, b.View.WeightTotal = "NOLB", others
		}
		s.Balancers = append(s.Balancers, b)
		s.Services = append(s.Services, api.ServiceStatus{Name: service, Mode: mode})
	}
	return s
}
