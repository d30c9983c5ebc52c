package daemon

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/systemd"
)

// A daemon that has had no gate for long is not woken for one. It notices one that starts with
// the next state.
func TestAGateThatStartsLateIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config.Default()
		c.HoldsIn = t.TempDir()
		d := New(c, "test.yaml", "test", slog.New(slog.DiscardHandler))
		d.Runtime, d.GateDir = t.TempDir(), t.TempDir()
		go d.followGate(t.Context())

		time.Sleep(2 * gateRestart)
		running := status.GateStatus{Looked: time.Now()}
		if err := (systemd.RuntimeFile{Dir: d.GateDir, Name: status.GateFile}).Save(running); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if d.gate.Load() != nil {
			t.Fatal("the gate was looked for without a new state")
		}
		d.news()
		synctest.Wait()
		if !d.gate.Load().Runs(time.Now()) {
			t.Error("the gate was not noticed")
		}
	})
}
