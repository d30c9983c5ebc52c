package guard

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/systemd"
)

// systemd does not answer while it replaces itself, as when it is upgraded in the
// transaction that upgrades Puppet Server.
func TestASystemdThatDoesNotAnswerDoesNotSkipTheDrain(t *testing.T) {
	for _, tt := range []struct {
		name    string
		silent  time.Duration // for how long each question fails, after 5 s
		service systemd.Service
		stops   bool
		then    error // what the first answer after that says
	}{
		{"it answers", 0, systemd.Service{MainPID: 1, Job: "restart"}, true, nil},
		{"it answers that nothing stops", 0, systemd.Service{MainPID: 1}, false, nil},
		{"one question fails", time.Second, systemd.Service{MainPID: 1, Job: "stop"}, true, nil},
		{"one question fails, and nothing stops", time.Second, systemd.Service{MainPID: 1}, false, nil},
		{"one question fails, and the process has died", time.Second, systemd.Service{Job: "restart"}, false, nil},
		{"it is silent for long", time.Minute, systemd.Service{MainPID: 1, Job: "stop"}, true, nil},
		{"it is silent for long, and the process has died", time.Minute, systemd.Service{Job: "restart"}, true, errDied},
		{"it is silent for long, and nothing stops", time.Minute, systemd.Service{MainPID: 1}, true, errCancelled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				g := &Guard{Service: "puppetserver", Out: io.Discard}
				g.ask = func(_ context.Context, unit string) (systemd.Service, error) {
					if unit != "puppetserver.service" {
						t.Errorf("asked about %s", unit)
					}
					if time.Since(began) < tt.silent {
						time.Sleep(5 * time.Second)
						return systemd.Service{}, errors.New("no reply")
					}
					return tt.service, nil
				}
				if got := g.Stops(t.Context()); got != tt.stops {
					t.Errorf("stops: %v, want %v", got, tt.stops)
				}
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("it took %v", took)
				}
				time.Sleep(time.Minute)
				if got := g.noteJob(t.Context()); tt.stops && got != tt.then {
					t.Errorf("then: %v, want %v", got, tt.then)
				}
			})
		})
	}
}
