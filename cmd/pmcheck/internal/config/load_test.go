package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func root(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	}
	return dir
}

// setenv sets variables, NAME=VALUE each, until the test ends.
func setenv(t *testing.T, variables ...string) {
	t.Helper()
	for _, pair := range variables {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestStrongerSourceWins(t *testing.T) {
	setenv(t, "PMCHECK_CONFIG=/x", "PMCHECK_PROBE_INTERVAL=4s", "PMCHECK_DISK_EJECT_MIB=4", "PMCHECK_LISTEN=:9202",
		"PMCHECK_ALLOW=10.0.0.0/8, ::1")
	l, err := config.Load(config.Options{
		Root: root(t, map[string]string{
			config.DefaultFile: "listen: :9201\ndisk:\n  eject_mib: 2\nprobe:\n  interval: 3s\n  timeout: 1s\n",
			oldConf:            "[main]\ncertname = m1.example.org\n",
			oldSSL + "x":       "",
		}),
		Environment: true,
	})
	must(t, err)
	want := []string{
		"listen: :9202 # environment PMCHECK_LISTEN",
		"allow: [10.0.0.0/8, '::1/128'] # environment PMCHECK_ALLOW",
		"probe.address: localhost:8140 # default",
		"probe.certname: m1.example.org # /etc/puppet/puppet.conf:2",
		"probe.interval: 4s # environment PMCHECK_PROBE_INTERVAL",
		"probe.timeout: 1s # /etc/pmcheck/pmcheck.yaml:6",
		"disk.eject_mib: 4 # environment PMCHECK_DISK_EJECT_MIB",
	}
	if d := cmp.Diff(want, values(l, want...)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if l.File != config.DefaultFile {
		t.Errorf("file %q", l.File)
	}
}

func TestUnreadableFileIsNamed(t *testing.T) {
	dir := root(t, map[string]string{"big.yaml": strings.Repeat("#\n", 1<<19+1)})
	absent, big := dir+"/absent.yaml", dir+"/big.yaml"
	for file, want := range map[string]string{
		absent: "read configuration: open " + absent + ": no such file or directory",
		big:    "read configuration: read " + big + ": is larger than 1 MiB",
		dir:    "read configuration: read " + dir + ": is not a regular file",
	} {
		_, err := config.Load(config.Options{File: file})
		if err == nil || err.Error() != want || errors.Is(err, fs.ErrNotExist) != (file == absent) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestSettingsWithoutMistakesAreLoadedBesideThoseWithOne(t *testing.T) {
	const socket, address = "/run/pmcheck/pmcheck.sock", "localhost:8140"
	for _, tc := range []struct {
		yaml, socket, address string
		environ               []string
	}{
		{"probe: {adress: x}", socket, address, nil},
		{"probe: {address: 'm1:1', adress: x}", socket, "m1:1", nil},
		{"probe: [", "/srv/e.sock", address,
			[]string{"PMCHECK_SOCKET=/srv/e.sock", "PMCHECK_HOLDS=/srv", "PMCHECK_LISENT=x"}},
		{"probe: [", "/srv/pmcheck.sock", address, []string{"PMCHECK_HOLDS=/srv"}},
	} {
		t.Run(tc.yaml, func(t *testing.T) {
			setenv(t, tc.environ...)
			path := filepath.Join(root(t, map[string]string{"F": tc.yaml}), "F")
			l, err := config.Load(config.Options{File: path, Environment: true})
			if c := l.Config; err == nil || l.File != path || c.Socket != tc.socket || c.Probe.Address != tc.address {
				t.Errorf("got %s, %s, %s, want %s, %s", l.File, c.Socket, c.Probe.Address, tc.socket, tc.address)
			}
		})
	}
}
