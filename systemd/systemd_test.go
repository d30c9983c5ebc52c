package systemd_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/systemd"
)

// TestMain also runs as the process to which sockets are passed.
func TestMain(m *testing.M) {
	if os.Getenv("SYSTEMD_TEST_CHILD") != "" {
		fmt.Println(describe(systemd.Listeners()))
		fmt.Println(describe(systemd.Listeners()))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func describe(listeners map[string][]net.Listener, err error) string {
	if err != nil {
		return err.Error()
	}
	words := []string{"passed:"}
	for _, name := range []string{systemd.HTTPSocket, systemd.StatusSocket} {
		for _, l := range listeners[name] {
			words = append(words, name, l.Addr().String())
		}
	}
	return strings.Join(words, " ")
}

func TestListenersAreTakenByName(t *testing.T) {
	tcp, file := listen(t, "tcp", "127.0.0.1:0")
	unix, unixFile := listen(t, "unix", filepath.Join(t.TempDir(), "status.sock"))
	const refused = " of the service manager: FileDescriptorName= is neither http nor status"
	for _, tt := range []struct {
		name  string
		names string
		files []*os.File
		want  string
	}{
		{"none", "", nil, "passed:"},
		{"two of a name", "http:http", []*os.File{file, file}, "passed: http " + tcp + " http " + tcp},
		{"one of each", "status:http", []*os.File{unixFile, file}, "passed: http " + tcp + " status " + unix},
		{"an unknown name", "pmcheck.socket", []*os.File{file}, `socket "pmcheck.socket"` + refused},
		{"fewer names than sockets", "http", []*os.File{file, file}, `socket "LISTEN_FD_4"` + refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// Only the process itself can put its number into its environment.
			cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0"`, os.Args[0])
			cmd.ExtraFiles = tt.files
			cmd.Env = append(os.Environ(), "SYSTEMD_TEST_CHILD=1", "GORACE=atexit_sleep_ms=0", "LISTEN_FDNAMES="+tt.names,
				fmt.Sprintf("LISTEN_FDS=%d", len(tt.files)))
			out, err := cmd.CombinedOutput()
			if want := tt.want + "\npassed:\n"; err != nil || string(out) != want { // a second call finds none
				t.Errorf("%v\ngot  %swant %s", err, out, want)
			}
		})
	}
}

func listen(t *testing.T, network, address string) (string, *os.File) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	file, err := l.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return l.Addr().String(), file
}

// The service manager reads each line as an assignment of its own.
func TestNotifySendsAStatusOfOneLine(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	if err := errors.Join(systemd.Ready("all\nis  well"), systemd.Reloading()); err != nil {
		t.Fatal(err)
	}
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

// watch returns the states that WatchUnit reports until ctx ends.
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
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+path)
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan []systemd.UnitState)
	go func() { watched <- watch(ctx) }()
	bus, err := l.Accept() // it has asked, and gets no answer
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	cancel()
	if states := <-watched; len(states) != 0 {
		t.Errorf("WatchUnit reported %v without an answer from the bus", states)
	}
}
