package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestADaemonOutsideItsUnitIsFound by its answer: another program may have the port.
func TestADaemonOutsideItsUnitIsFound(t *testing.T) {
	for said, want := range map[string]bool{
		"live":              true,
		"Puppet is running": false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/live" {
				io.WriteString(w, said)
			}
		}))
		if got := isDaemon(t.Context(), server.Listener.Addr().String()); got != want {
			t.Errorf("%q: %v, want %v", said, got, want)
		}
		server.Close()
		if isDaemon(t.Context(), server.Listener.Addr().String()) {
			t.Error("nothing listens, and a daemon is found")
		}
	}
}
