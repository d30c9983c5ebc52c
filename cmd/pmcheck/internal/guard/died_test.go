package guard_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// A Puppet Server that dies while its stop waits has no agents left. Its job is then done, or
// waits to start it.
func TestAServiceThatDiesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		others int    // the weight of the other servers, of which one more is expected back if it is 0
		job    string // once it has died
		held   bool   // afterwards: it was drained before it died
	}{
		{"while it waits for its turn, and restarts", 0, "restart", false},
		{"while it waits for its turn, and starts", 0, "start", false},
		{"while it waits for its turn, and stops", 0, "", false},
		{"while it waits for agents, and restarts", 100, "restart", true},
		{"while it waits for agents, and starts", 100, "start", true},
		{"while it waits for agents, and stops", 100, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := settings(t)
				began := time.Now()
				var out strings.Builder
				g := newGuard(t, c, &out, func() *api.Status {
					mode, _ := c.Store().Read().Mode(monitor.Server, time.Now())
					s := status(mode, tt.others-min(tt.others, 100), tt.others)
					pool := &check.Pool{Size: 1, Borrowed: []check.Loan{{Request: "POST /puppet/v3/catalog/web1"}}}
					s.Services[0].Checks[0].Pool = pool
					return s
				})
				g.Systemd(func() systemd.Service {
					if time.Since(began) < 30*time.Second {
						return systemd.Service{MainPID: 7, Job: "restart"}
					}
					return systemd.Service{Job: tt.job}
				})
				if err := g.BeforeStop(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < 30*time.Second || took > 33*time.Second {
					t.Errorf("the service may stop after %v; it died after 30s", took)
				}
				lifted, err := c.Store().Lift(drain.Guard, "")
				if held := !errors.Is(err, drain.ErrNotFound); held != tt.held || held && lifted[0].Mode != drain.Drain {
					t.Errorf("a hold is left: %v %+v", held, lifted)
				}
				if !strings.Contains(out.String(), "does not wait for the last agents: the service's process has died") {
					t.Errorf("it says\n%s", &out)
				}
			})
		})
	}
}
