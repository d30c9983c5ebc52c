package wait_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
)

// systemd holds the socket of a daemon that does not start: it accepts, and nothing answers.
func TestADaemonThatHangsDoesNotBlockALook(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	client, d := api.Client{Socket: socket}, new(rotation.Departure)
	for name, look := range map[string]wait.Look{
		"drained":    wait.DrainedInTurn(d)(client, "192.0.2.1:8140", "", time.Now()),
		"in service": wait.InService(client, "", "", time.Now()),
		"together":   wait.Together(client, d),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if list := look(ctx); ctx.Err() != nil {
				t.Errorf("the look ended with the whole wait, after 5 s: %v", list)
			}
		})
	}
}
