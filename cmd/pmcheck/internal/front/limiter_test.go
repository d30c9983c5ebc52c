package front

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A limiter without connections does not wake the process; with one, its clock runs again.
func TestClockRunsWhileThereAreConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := (&Server{Places: 2}).limit(t.Context(), nil)
		c, _ := net.Pipe()
		l.admit(c).Close()
		time.Sleep(time.Hour)
		if n := l.sweeps.Load(); n > 1 {
			t.Errorf("%d sweeps in an hour without a connection", n)
		}
		server, client := net.Pipe()
		began := time.Now()
		l.admit(server)
		if _, err := client.Read(make([]byte, 1)); err == nil {
			t.Error("read from a connection that nobody wrote to")
		}
		if open := time.Since(began); open < exchangeTime || open > exchangeTime+2*sweepEvery {
			t.Errorf("closed after %s, want %s", open, exchangeTime)
		}
	})
}
