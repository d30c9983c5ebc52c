package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

// A fakeDaemon answers on a socket with any status, as an attacker who runs as the
// daemon's user could.
type fakeDaemon struct {
	config, socket string // paths of a pmcheck.yaml that is not YAML, and of the socket
}

// startFakeDaemon starts a daemon that reports this directory of holds and these services.
func startFakeDaemon(t *testing.T, holds string, services ...string) fakeDaemon {
	t.Helper()
	dir := t.TempDir()
	d := fakeDaemon{filepath.Join(dir, "pmcheck.yaml"), filepath.Join(dir, "s")}
	write(t, d.config, "probe: [\n")
	l, err := net.Listen("unix", d.socket)
	if err != nil {
		t.Fatal(err)
	}
	var status api.Status
	status.Config.File = d.config
	status.Config.Holds = api.HoldsConfig{
		Persistent:  holds,
		UntilReboot: filepath.Join(dir, "run"), // a failure must not touch anything outside the test
		InitialMode: drain.Ready,
	}
	for _, name := range services {
		status.Services = append(status.Services, api.ServiceStatus{Name: name, Mode: drain.Ready})
	}
	body, err := json.Marshal(status)
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
	exit = Run(args, []string{"PMCHECK_SOCKET=" + d.socket}, strings.NewReader(""), &out, &said)
	return exit, out.String(), said.String()
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestNoHoldIsChangedInADirectoryThatOnlyTheDaemonNames(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(t *testing.T, victim string) (claim string)
	}{
		{"a directory of another program", func(_ *testing.T, victim string) string { return victim }},
		{"a directory with pmcheck's marker", func(t *testing.T, victim string) string {
			write(t, filepath.Join(victim, ".initialized"), "")
			return victim
		}},
		{"a link", func(t *testing.T, victim string) string {
			link := filepath.Join(t.TempDir(), "holds")
			if err := os.Symlink(victim, link); err != nil {
				t.Fatal(err)
			}
			return link
		}},
		{"a directory of another user", func(t *testing.T, victim string) string {
			if os.Getuid() != 0 {
				t.Skip("needs root")
			}
			if err := os.Chown(victim, 65534, 65534); err != nil {
				t.Fatal(err)
			}
			return victim
		}},
		{"a directory that does not exist", func(_ *testing.T, victim string) string { return filepath.Join(victim, "new") }},
		{"a path with ..", func(_ *testing.T, victim string) string { return victim + "/../" + filepath.Base(victim) }},
		{"escape sequences", func(t *testing.T, victim string) string {
			claim := filepath.Join(victim, "\x1b[2J\u202e")
			if err := os.Mkdir(claim, 0o755); err != nil {
				t.Fatal(err)
			}
			return claim
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			victim := t.TempDir()
			write(t, filepath.Join(victim, "package.json"), "{}")
			claim := tt.prepare(t, victim)
			before := entries(t, victim)
			d := startFakeDaemon(t, claim, "server")
			for _, args := range [][]string{{"ready", "--all"}, {"ready"}, {"drain"}, {"completion", "holders"}} {
				exit, _, stderr := d.run(args...)
				if exit != exitUsage {
					t.Errorf("%v exits with %d: %s", args, exit, stderr)
				}
				if !strings.Contains(stderr, "which is not trusted while the configuration is broken: ") ||
					!strings.Contains(stderr, "hint: mend the configuration") {
					t.Errorf("%v prints %q", args, stderr)
				}
				assertPrintable(t, stderr)
			}
			if after := entries(t, victim); after != before {
				t.Errorf("%s had\n%s\nand has\n%s", victim, before, after)
			}
		})
	}
}

// A shell may execute what is in a name that it completes.
func TestServiceNamesOfTheDaemonAreNotRunByAShell(t *testing.T) {
	d := startFakeDaemon(t, t.TempDir(),
		"server", "$(touch x)", "`touch x`", "a;b", "a b", "\x1b[2J", "ca\n", "", "-c", "ca", strings.Repeat("x", 65))
	exit, stdout, stderr := d.run("completion", "services")
	if exit != exitOK || stdout != "ca\nserver\n" {
		t.Errorf("exit status %d, %q, %s", exit, stdout, stderr)
	}
	_, _, stderr = d.run("wait", "--for", "out", "--service", "nope")
	const hint = "hint: set services in the configuration, then systemctl reload pmcheck\n"
	if !strings.HasSuffix(stderr, hint) || strings.Contains(stderr, "touch") {
		t.Errorf("wait prints %q", stderr)
	}
	assertPrintable(t, stderr)
}

func entries(t *testing.T, dir string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		fmt.Fprintf(&list, "%q\n", path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}

func assertPrintable(t *testing.T, lines string) {
	t.Helper()
	if strings.ContainsFunc(lines, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) {
		t.Errorf("not printable: %q", lines)
	}
}
