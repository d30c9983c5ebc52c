package systemd_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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

// systemd runs nothing after a command that fails. A daemon that did not hear of a reload with
// a mistake would go on saying that its configuration is the current one.
func TestReloadSignalsTheDaemonBeforeItCanFail(t *testing.T) {
	unit, err := os.ReadFile("pmcheck.service")
	if err != nil {
		t.Fatal(err)
	}
	var mayFail bool
	for line := range strings.Lines(string(unit)) {
		command, found := strings.CutPrefix(strings.TrimSpace(line), "ExecReload=")
		if command == "/bin/kill -HUP $MAINPID" {
			if mayFail {
				t.Error("a command that may fail comes before the signal")
			}
			return
		}
		mayFail = mayFail || found && !strings.HasPrefix(strings.TrimLeft(command, "@:+!"), "-")
	}
	t.Error("no signal")
}

func TestListenersAreTakenByName(t *testing.T) {
	dir := t.TempDir()
	tcp, file := listen(t, "tcp", "127.0.0.1:0")
	tcp2, file2 := listen(t, "tcp", "127.0.0.1:0")
	unix, unixFile := listen(t, "unix", filepath.Join(dir, "status.sock"))
	tests := []struct {
		name  string
		names string
		files []*os.File
		want  string
	}{
		{"none", "", nil, "passed:"},
		{"one", "http", []*os.File{file}, "passed: http " + tcp},
		{"two of a name", "http:http", []*os.File{file, file2}, "passed: http " + tcp + " http " + tcp2},
		{"one of each", "status:http", []*os.File{unixFile, file}, "passed: http " + tcp + " status " + unix},
		{"an unknown name", "pmcheck.socket", []*os.File{file},
			`socket "pmcheck.socket" of the service manager: FileDescriptorName= is neither http nor status`},
		{"fewer names than sockets", "http", []*os.File{file, file2},
			`socket "LISTEN_FD_4" of the service manager: FileDescriptorName= is neither http nor status`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// Only the process itself can put its number into its environment.
			cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0"`, os.Args[0])
			cmd.ExtraFiles = tt.files
			cmd.Env = append(os.Environ(), "SYSTEMD_TEST_CHILD=1", "GORACE=atexit_sleep_ms=0", "LISTEN_FDNAMES="+tt.names,
				fmt.Sprintf("LISTEN_FDS=%d", len(tt.files)))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			first, again, _ := strings.Cut(string(out), "\n")
			if !strings.HasPrefix(first, tt.want) {
				t.Errorf("got  %q\nwant %q", first, tt.want)
			}
			if again != "passed:\n" {
				t.Errorf("a second call: %q", again)
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

func TestNotifySendsOneDatagram(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	tests := []struct {
		name string
		send func() error
		want string
	}{
		{"ready", func() error { return systemd.Ready("all\nis  well") }, "READY=1\nSTATUS=all is well"},
		{"status", func() error { return systemd.Status("busy") }, "STATUS=busy"},
		{"reloading", systemd.Reloading, "RELOADING=1\nMONOTONIC_USEC="},
		{"stopping", systemd.Stopping, "STOPPING=1"},
		{"ping", systemd.Ping, "WATCHDOG=1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.send(); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 1024)
			manager.SetReadDeadline(time.Now().Add(10 * time.Second))
			n, err := manager.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(b[:n]); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	manager.Close()
	if err := systemd.Ping(); !errors.Is(err, os.ErrNotExist) && !strings.Contains(fmt.Sprint(err), "refused") {
		t.Errorf("with no reader at the socket: %v", err)
	}
	t.Setenv("NOTIFY_SOCKET", "")
	if err := systemd.Ready("no socket"); err != nil {
		t.Errorf("without a service manager: %v", err)
	}
}

func TestWatchdogIntervalIsRead(t *testing.T) {
	tests := []struct {
		name, usec, pid string
		want            time.Duration
		fails           bool
	}{
		{"none", "", "", 0, false},
		{"ours", "10000000", fmt.Sprint(os.Getpid()), 10 * time.Second, false},
		{"of another process", "10000000", "1", 0, false},
		{"nonsense", "soon", "", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("WATCHDOG_USEC", tt.usec)
			t.Setenv("WATCHDOG_PID", tt.pid)
			got, err := systemd.Watchdog()
			if got != tt.want || (err != nil) != tt.fails {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// Without a bus, WatchUnit reports once that nothing is known.
func TestWithoutBusNothingIsKnown(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "bus"))
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	var states []systemd.UnitState
	systemd.WatchUnit(ctx, []string{"puppetserver.service"}, func(s systemd.UnitState) { states = append(states, s) })
	if len(states) != 1 || states[0] != (systemd.UnitState{}) {
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
	go func() {
		var states []systemd.UnitState
		systemd.WatchUnit(ctx, []string{"puppetserver.service"}, func(s systemd.UnitState) { states = append(states, s) })
		watched <- states
	}()
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
