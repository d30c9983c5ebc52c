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

// root makes a directory that holds the files, by path; a path that ends in a
// slash is a directory.
func root(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		parent := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			parent = path
		}
		if err := os.MkdirAll(parent, 0o700); err != nil {
			t.Fatal(err)
		}
		if parent == path {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestMistakesOfNoConsequenceAreAWarning(t *testing.T) {
	for yaml, want := range map[string]string{ // one warning, of which these are parts
		// The front resets a connection that allow does not permit, whatever it asks for.
		"balancers: [192.0.2.1]\nstatus_allow: [192.0.2.1]":                      "",
		"allow: [192.0.2.0/24]\nbalancers: [192.0.2.1]":                          "",
		"allow: [192.0.2.1]\nbalancers: [192.0.2.0/24]":                          "",
		"allow: [192.0.2.0/24]\nbalancers: ['2001:db8::1', 192.0.2.1]":           "balancers has 2001:db8::1/128,",
		"allow: [192.0.2.0/24, '::/0']\nstatus_allow: [198.51.100.7, 192.0.2.1]": "status_allow has 198.51.100.7/32,",
	} {
		l, err := config.Check(config.Options{File: write(t, yaml+"\n")})
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(l.Warnings, "\n")
		begin, part, _ := strings.Cut(want, "…")
		if (said == "") != (want == "") || !strings.HasPrefix(said, begin) || !strings.Contains(said, part) ||
			strings.Contains(said, "\n") {
			t.Errorf("%s: %q, want %q", yaml, said, want)
		}
	}
}

func TestStrongerSourceWins(t *testing.T) {
	o := config.Options{
		Root: root(t, map[string]string{
			config.DefaultFile:        "listen: :9201\ndisk:\n  eject_mib: 2\nprobe:\n  interval: 3s\n  timeout: 1s\n",
			"/etc/puppet/puppet.conf": "[main]\ncertname = m1.example.org\n",
			"/var/lib/puppet/ssl/":    "",
		}),
		Environ: []string{"PATH=/bin", "PMCHECK_CONFIG=/x", "PMCHECK_PROBE_INTERVAL=4s", "PMCHECK_DISK_EJECT_MIB=4",
			"PMCHECK_LISTEN=:9202", "PMCHECK_ALLOW=10.0.0.0/8, ::1"},
		Listen: new(":9203"),
	}
	l, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	got := values(l, "listen", "allow", "probe.address", "probe.certname", "probe.certificate", "probe.key",
		"probe.interval", "probe.timeout", "jruby.warming_max", "disk.eject_mib")
	want := []string{
		"listen: :9203 # flag --listen",
		"allow: [10.0.0.0/8, '::1/128'] # environment PMCHECK_ALLOW",
		"probe.address: localhost:8140 # default",
		"probe.certname: m1.example.org # /etc/puppet/puppet.conf:2",
		"probe.certificate: /var/lib/puppet/ssl/certs/m1.example.org.pem # /etc/puppet/puppet.conf:2",
		"probe.key: /var/lib/puppet/ssl/private_keys/m1.example.org.pem # /etc/puppet/puppet.conf:2",
		"probe.interval: 4s # environment PMCHECK_PROBE_INTERVAL",
		"probe.timeout: 1s # /etc/pmcheck/pmcheck.yaml:6",
		"jruby.warming_max: 5m # default",
		"disk.eject_mib: 4 # environment PMCHECK_DISK_EJECT_MIB",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if l.File != config.DefaultFile {
		t.Errorf("file %q", l.File)
	}
}

func TestEmptyTextCountsAsUnset(t *testing.T) {
	l, err := config.Load(config.Options{Root: root(t, map[string]string{
		config.DefaultFile: "probe: {certname: ''}\n", "/etc/puppet/puppet.conf": "certname = m1\n",
	})})
	if err != nil {
		t.Fatal(err)
	}
	if l.Config.Probe.Certname != "m1" {
		t.Errorf("certname %q", l.Config.Probe.Certname)
	}
}

func TestUnreadableFileIsNamed(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, []byte(strings.Repeat("#\n", 1<<19+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, file, want string
		is               error
	}{
		{"absent", dir + "/absent.yaml", "read configuration: open " + dir + "/absent.yaml: no such file or directory",
			fs.ErrNotExist},
		{"directory", dir, "read configuration: read " + dir + ": is a directory", nil},
		{"large", big, "read configuration: " + big + " is larger than 1 MiB", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Load(config.Options{File: tt.file})
			if err == nil || err.Error() != tt.want {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not %v", err, tt.is)
			}
		})
	}
}

func TestDefaultFileMayBeAbsent(t *testing.T) {
	l, err := config.Check(config.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(derivedDefault(), l.Config); d != "" || l.File != "" {
		t.Errorf("file %q (-want +got):\n%s", l.File, d)
	}
}

func TestDefaultFileMayNotBeADanglingLink(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, config.DefaultFile)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink("lost.yaml", path)); err != nil {
		t.Fatal(err)
	}
	if l, err := config.Check(config.Options{Root: root}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("loaded %+v, %v", l, err)
	}
}

func TestFaultsCanBeUnwrapped(t *testing.T) {
	_, err := config.Check(config.Options{File: write(t, "listen: 1\nlog: {level: loud}\n")})
	var first config.Fault
	if !errors.As(err, &first) || strings.Count(err.Error(), "\n") != 1 {
		t.Fatalf("%#v", err)
	}
	if !strings.Contains(first.Error(), ":1: listen: ") {
		t.Errorf("%v", first)
	}
}

func TestSettingsWithoutMistakesAreLoadedBesideThoseWithOne(t *testing.T) {
	for _, tc := range []struct {
		name, yaml, socket, address string
		environ                     []string
	}{
		{"not set", "probe: {adress: x}", "/run/pmcheck/pmcheck.sock", "localhost:8140", nil},
		{"in the file", "probe: {address: 'm1:1'}\njruby: {adress: x}", "/run/pmcheck/pmcheck.sock", "m1:1", nil},
		{"a mistake in the section", "probe: {address: 'm1:1', adress: x}", "/run/pmcheck/pmcheck.sock", "m1:1", nil},
		{"in the environment", "probe: [", "/srv/e.sock", "localhost:8140",
			[]string{"PMCHECK_SOCKET=/srv/e.sock", "PMCHECK_HOLDS=/srv", "PMCHECK_LISENT=x"}},
		{"beside the holds", "probe: [", "/srv/pmcheck.sock", "localhost:8140", []string{"PMCHECK_HOLDS=/srv"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pmcheck.yaml")
			if err := os.WriteFile(path, []byte(tc.yaml), 0o644); err != nil {
				t.Fatal(err)
			}
			l, err := config.Check(config.Options{File: path, Environ: tc.environ})
			c := l.Config
			if err == nil || l.File != path || c.Socket != tc.socket || c.Probe.Address != tc.address {
				t.Errorf("got %s, %s, %s, want %s, %s, %s", l.File, c.Socket, c.Probe.Address, path, tc.socket, tc.address)
			}
		})
	}
}
