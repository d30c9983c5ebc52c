//go:build linux

package module_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// The programs that migrate.sh calls. systemctl changes unit files in $ROOT, and starts and
// stops nothing: a start exits with $START.
var migrateCommands = map[string]string{
	"curl":    "printf 200",
	"ss":      "",
	"pmcheck": "exec sleep 60",
	"systemctl": `case "$*" in
*xinetd*|stop\ *|reset-failed\ *) ;;
start\ *) exit "$START" ;;
*) exec /usr/bin/systemctl --root="$ROOT" "$@" ;;
esac`,
}

// TestMigrationEnablesPmcheckOnlyOnSuccess: without that, pmcheck takes the port as soon as an
// operator stops xinetd, which used to take the master out.
func TestMigrationEnablesPmcheckOnlyOnSuccess(t *testing.T) {
	lab.Real(t)
	lab.Need(t, "systemctl", "systemd")
	for _, test := range []struct {
		name, before, start, want string
	}{
		{"pmcheck does not start", "mask", "1", "masked"},
		{"pmcheck does not start and was not masked", "unmask", "1", "masked"},
		{"success", "mask", "0", "enabled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			units := filepath.Join(dir, "usr", "lib", "systemd", "system")
			bin := filepath.Join(dir, "bin")
			for _, d := range []string{units, bin} {
				if err := os.MkdirAll(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.CopyFS(units, os.DirFS(tree(t, "systemd"))); err != nil {
				t.Fatal(err)
			}
			for name, script := range migrateCommands {
				lab.Write(t, filepath.Join(bin, name), "#!/bin/sh\n"+script+"\n")
				if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			old := filepath.Join(dir, "puppetserver_check")
			lab.Write(t, old, oldService)
			script := filepath.Join(dir, "migrate.sh")
			lab.Write(t, script, strings.ReplaceAll(
				lab.Read(t, tree(t, "examples", "migrate-from-xinetd", "migrate.sh")), "/run/", dir+"/"))

			systemctl := func(args ...string) string {
				out, _ := exec.Command("systemctl", append([]string{"--root=" + dir}, args...)...).Output()
				return strings.Join(strings.Fields(string(out)), " ")
			}
			systemctl(append([]string{"enable"}, migratedUnits()...)...)
			systemctl(append([]string{test.before}, migratedUnits()...)...)
			cmd := exec.Command("sh", script, old)
			cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "ROOT=" + dir, "START=" + test.start}
			out, err := cmd.CombinedOutput()
			if (err == nil) != (test.start == "0") {
				t.Errorf("migrate.sh: %v\n%s", err, out)
			}
			want := strings.TrimSpace(strings.Repeat(test.want+" ", len(migratedUnits())))
			if got := systemctl(append([]string{"is-enabled"}, migratedUnits()...)...); got != want {
				t.Errorf("%v are %s, want %s\n%s", migratedUnits(), got, want, out)
			}
			if config := lab.Read(t, old); strings.Contains(config, "disable = yes") != (err == nil) {
				t.Errorf("the old check:\n%s", config)
			}
			if test.start != "0" {
				return
			}
			again := exec.Command("sh", script, old)
			again.Env = cmd.Env
			if out, err := again.CombinedOutput(); err == nil {
				t.Errorf("a second migration succeeds:\n%s", out)
			}
			if kept := lab.Read(t, old+".before-pmcheck"); kept != oldService {
				t.Errorf("a second migration changes the copy for the way back:\n%s", kept)
			}
		})
	}
}
