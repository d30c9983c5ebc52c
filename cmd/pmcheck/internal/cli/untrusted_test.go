package cli

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// A fakeDaemon answers on a socket with any status, as an attacker who runs as the
// daemon's user could.
type fakeDaemon struct {
	config, socket string // paths of a pmcheck.yaml that is not YAML, and of the socket
}

// startFakeDaemon starts a daemon that reports these services.
func startFakeDaemon(t *testing.T, services ...string) fakeDaemon {
	t.Helper()
	dir := t.TempDir()
	d := fakeDaemon{filepath.Join(dir, "pmcheck.yaml"), filepath.Join(dir, "s")}
	write(t, d.config, "probe: [\n")
	l, err := net.Listen("unix", d.socket)
	if err != nil {
		t.Fatal(err)
	}
	var st status.Status
	st.Config.File = d.config
	for _, name := range services {
		st.Services = append(st.Services, status.ServiceStatus{Name: name, Mode: drain.Ready})
	}
	body, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(body) })}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return d
}

// run runs a command with the fake daemon as its daemon.
func (d fakeDaemon) run(args ...string) (exit int, stdout, stderr string) {
	var out, said strings.Builder
	args = append([]string{"pmcheck", args[0], "--config", d.config}, args[1:]...)
	exit = Run(args, environOf(d.config, d.socket), strings.NewReader(""), &out, &said)
	return exit, out.String(), said.String()
}

// environOf returns the environment of a command with this socket and the holds beside config.
func environOf(config, socket string) []string {
	return []string{"PMCHECK_SOCKET=" + socket, "PMCHECK_HOLDS=" + filepath.Dir(config)}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestServiceNamesOfTheDaemonAreNotPrintedAsTheyAre(t *testing.T) {
	d := startFakeDaemon(t,
		"server", "$(touch x)", "`touch x`", "a;b", "a b", "\x1b[2J", "ca\n", "", "-c", "ca", strings.Repeat("x", 65))
	_, _, stderr := d.run("wait", "--for", "out", "--service", "nope")
	const hint = "hint: set services in the configuration, then systemctl reload pmcheck\n"
	if !strings.HasSuffix(stderr, hint) || strings.Contains(stderr, "touch") {
		t.Errorf("wait prints %q", stderr)
	}
	assertPrintable(t, stderr)
}

func assertPrintable(t *testing.T, lines string) {
	t.Helper()
	if strings.ContainsFunc(lines, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) {
		t.Errorf("not printable: %q", lines)
	}
}
