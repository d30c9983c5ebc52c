package systemd_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/systemd"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The service manager reads each line as an assignment of its own.
func TestNotifySendsAStatusOfOneLine(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	must(t, err)
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	must(t, errors.Join(systemd.Ready("all\nis  well"), systemd.Reloading()))
	for _, want := range []string{"READY=1\nSTATUS=all is well", "RELOADING=1\nMONOTONIC_USEC="} {
		b := make([]byte, 1024)
		n, err := manager.Read(b)
		if got := string(b[:n]); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	manager.Close()
	if err := systemd.Ping(); err == nil {
		t.Error("no error with no reader at the socket")
	}
}

func watch(ctx context.Context) (states []systemd.UnitState) {
	systemd.WatchUnit(ctx, []string{"puppetserver.service"}, func(s systemd.UnitState) { states = append(states, s) })
	return states
}

// The guard asks while the host shuts down, so without a bus the calls must fail quickly.
// WatchUnit reports once that nothing is known.
func TestWithoutBusNothingIsKnown(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "bus"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if s, err := systemd.AskService(ctx, "no-such.service"); err == nil && (s.MainPID != 0 || s.Job != "" || s.HostStops) {
		t.Errorf("a service that does not exist: %+v", s)
	}
	if ctx.Err() != nil {
		t.Error("the calls took longer than a second")
	}
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if states := watch(ctx); !slices.Equal(states, []systemd.UnitState{{}}) {
		t.Errorf("states %v", states)
	}
}

// A watch that begins or ends, as with a reload, must not report that there is no unit.
func TestWatchUnitReportsNothingBeforeTheFirstAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", path)
	must(t, err)
	defer l.Close()
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+path)
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan []systemd.UnitState)
	go func() { watched <- watch(ctx) }()
	bus, err := l.Accept() // it has asked, and gets no answer
	must(t, err)
	defer bus.Close()
	cancel()
	if states := <-watched; len(states) != 0 {
		t.Errorf("WatchUnit reported %v without an answer from the bus", states)
	}
}
