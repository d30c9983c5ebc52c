package module_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// Exit statuses of puppet agent --detailed-exitcodes.
const (
	unchanged = 0
	notRun    = 1 // no catalog
	changed   = 2
	failed    = 4
	mixed     = 6 // some changes, some failures
)

// copyModule puts the module where Puppet Server finds it.
func (s *site) copyModule() {
	s.t.Helper()
	root := tree("packaging", "puppet")
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(path, "spec/") {
			s.host.Copy(filepath.Join(root, path), "/etc/puppet/code/environments/production/modules/pmcheck/"+path, 0o644)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// run has the agent of the host fetch a catalog of manifest from its own Puppet
// Server, and apply it.
func (s *site) run(manifest string, want ...int) (output string) {
	s.t.Helper()
	s.master.SetSitePP(manifest)
	out, err := s.host.Command("puppet", "agent", "--test", "--color=false").CombinedOutput()
	got := exitStatus(s.t, err)
	for _, status := range want {
		if got == status {
			return string(out)
		}
	}
	s.t.Errorf("puppet agent ends with %d, want %v\n%s\n%s", got, want, manifest, out)
	return string(out)
}

// class declares pmcheck with further parameters, from the package on the host.
func (s *site) class(parameters string) string {
	sum := strings.Fields(s.host.MustRun("sha256sum", debFile))[0]
	return fmt.Sprintf("class { 'pmcheck':\n  package_source => 'file://%s',\n  package_sha256 => '%s',\n  %s\n}\n", debFile, sum, parameters)
}

// elsewhere are the parameters of a pmcheck on another port and another socket.
const elsewhere = "listen => ':9300', socket => '/run/pmcheck/other.sock',"

// daemon returns the process id of the daemon.
func (s *site) daemon() string {
	s.t.Helper()
	return s.host.MustRun("systemctl", "show", "--property=MainPID", "--value", "pmcheck.service")
}

// testModule gives the host to Puppet: real agent, real Puppet Server.
func (s *site) testModule() {
	s.t.Helper()
	for _, step := range []struct {
		name string
		test func(*site)
	}{
		{"another package than expected", (*site).testChecksum},
		{"install", (*site).testInstall},
		{"wrong types", (*site).testWrongTypes},
		{"held", (*site).testHeld},
		{"settings that pmcheck does not know", (*site).testUnknownSetting},
		{"another port", (*site).testPort},
		{"balancer", (*site).testBalancer},
	} {
		s.t.Run(step.name, func(t *testing.T) { step.test(s.with(t)) })
	}
}

func (s *site) testChecksum() {
	s.run(fmt.Sprintf("class { 'pmcheck': package_source => 'file://%s', package_sha256 => '%064d' }", debFile, 0), failed, mixed)
	if out, err := s.host.Run("pmcheck", "version"); err == nil {
		s.t.Errorf("installed: %s", out)
	}
}

func (s *site) testInstall() {
	manifest := s.class("")
	s.run(manifest, changed)
	s.await(9200, 200, answer.Serving)
	for _, unit := range []string{"pmcheck.service", "pmcheck.socket", "pmcheck-guard@puppetserver.service"} {
		if out, err := s.host.Run("systemctl", "is-enabled", unit); err != nil {
			s.t.Errorf("%s is %s", unit, out)
		}
	}
	s.t.Log(s.run(manifest, unchanged))
}

func (s *site) testWrongTypes() {
	out := s.run(s.class("allow => '192.0.2.0/24',"), notRun)
	if !strings.Contains(out, "parameter 'allow'") {
		s.t.Errorf("the agent says:\n%s", out)
	}
}

// testHeld changes the configuration, once by a reload and once by a restart, of
// a master that is held by two, one of them until the next reboot only.
func (s *site) testHeld() {
	s.host.MustRun("pmcheck", "drain", "--reason", "the operator's own")
	s.host.MustRun("pmcheck", "maint", "--hold", "other", "--until-reboot")
	s.await(9200, 503, "maint")
	w := s.watch()

	before := s.daemon()
	s.run(s.class("probe => { interval => '3s' },"), changed)
	if got := s.host.MustRun("pmcheck", "config"); !strings.Contains(got, "3s") {
		s.t.Errorf("the configuration is not the new one:\n%s", got)
	}
	if got := s.daemon(); got != before {
		s.t.Errorf("the daemon was process %s, is %s: restarted where a reload is enough", before, got)
	}
	s.run(s.class("probe => { interval => '3s' }, max_connections => 500,"), changed)
	if s.daemon() == before {
		s.t.Error("the daemon was not restarted for max_connections")
	}

	w.end()
	if len(w.answers) != 1 || w.answers["503 maint"] == 0 {
		s.t.Errorf("answers meanwhile: %v; %v", w.answers, w.last)
	}
	s.host.MustRun("pmcheck", "ready", "--hold", "other")
	s.await(9200, 503, "drain")
	s.host.MustRun("pmcheck", "ready")
	s.await(9200, 200, answer.Serving)
}

func (s *site) testPort() {
	s.host.MustRun("pmcheck", "drain")
	manifest := s.class(elsewhere)
	s.run(manifest, changed)
	s.await(9300, 503, "drain")
	if code, body, err := s.get(9200); err == nil {
		s.t.Errorf("the old port answers %d %s", code, body)
	}
	s.host.MustRun("pmcheck", "ready")
	s.await(9300, 200, answer.Serving)
	s.run(manifest, unchanged)
}

func (s *site) testUnknownSetting() {
	const file = "/etc/pmcheck/pmcheck.yaml"
	before := s.host.MustRun("cat", file)
	out := s.run(s.class("settings => { probe => { intervall => '3s' } },"), failed, mixed)
	if !strings.Contains(out, "probe.intervall") {
		s.t.Errorf("the agent says:\n%s", out)
	}
	if got := s.host.MustRun("cat", file); got != before {
		s.t.Errorf("written all the same:\n%s", got)
	}
	s.await(9200, 200, answer.Serving)
}

// testBalancer has HAProxy configured from the exported resource, on the same
// host, for want of PuppetDB.
func (s *site) testBalancer() {
	s.run(s.class(elsewhere)+`
include pmcheck::balancermember
include haproxy
haproxy::listen { 'puppet':
  collect_exported => false,
  ipaddress        => '*',
  ports            => '18140',
  mode             => 'tcp',
  options          => { 'option' => ['httpchk GET /'] },
}
Haproxy::Balancermember <| |>
`, changed)
	const want = "server m1 %s:8140 check fall 3 inter 2s port 9300 rise 2"
	if got := s.host.MustRun("cat", "/etc/haproxy/haproxy.cfg"); !strings.Contains(got, fmt.Sprintf(want, s.host.Address)) {
		s.t.Errorf("haproxy.cfg has not the line %q:\n%s", want, got)
	}
	lab.RetryUntil(s.t, 20*time.Second, 100*time.Millisecond, func() error {
		out, err := s.host.Run("sh", "-c", "echo show stat | socat stdio /var/lib/haproxy/stats | grep ^puppet,m1,")
		if err == nil && !strings.Contains(out, ",UP,") || !strings.Contains(out, "L7OK") {
			err = fmt.Errorf("HAProxy says %s", out)
		}
		return err
	})
}
