package cli

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pmcheck/pmcheck/systemd"
)

// TestADaemonIsAbsentOnlyIfThatIsKnown: nothing waits for a daemon that is absent.
func TestADaemonIsAbsentOnlyIfThatIsKnown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	open := l.Addr().String()
	t.Cleanup(func() { l.Close() })
	const closed = "127.0.0.1:1"
	says := func(s systemd.Service) asker {
		return func(context.Context, string) (systemd.Service, error) { return s, nil }
	}
	hangs := func(ctx context.Context, _ string) (systemd.Service, error) {
		<-ctx.Done()
		return systemd.Service{}, ctx.Err()
	}
	isNotThere := func(context.Context, string) (systemd.Service, error) {
		return systemd.Service{}, errors.New("no bus")
	}
	for _, tt := range []struct {
		name   string
		ask    asker
		listen string
		want   bool
	}{
		{"a process", says(systemd.Service{MainPID: 1, SubState: "running"}), closed, true},
		{"it starts", says(systemd.Service{SubState: "start-pre"}), closed, true},
		{"it has failed", says(systemd.Service{SubState: "failed"}), closed, false},
		{"its socket alone", says(systemd.Service{SubState: "dead"}), open, false},
		{"systemd hangs", hangs, closed, true},
		{"no systemd, and nothing listens", isNotThere, closed, false},
		{"no systemd, and something listens", isNotThere, open, true},
	} {
		if got := daemonRuns(t.Context(), tt.listen, tt.ask); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

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
