package module_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const (
	debFile = "/root/pmcheck.deb" // on the host
	wait    = 20 * time.Second    // for an answer
)

// balancer is a configuration of HAProxy with the health check from the README.
const balancer = `
frontend agents
    bind ` + lab.BridgeAddress + `:8140
    default_backend puppet

backend puppet
    balance leastconn
    option httpchk GET /
    default-server check port 9200 inter 2s fall 3 rise 2
    server m1 MASTER
`

// TestMasterMigratesAndIsConfiguredByPuppet: a master moves from the xinetd check to
// pmcheck. Then the Puppet module configures it.
func TestMasterMigratesAndIsConfiguredByPuppet(t *testing.T) {
	lab.Real(t)
	t.Parallel() // with TestModulePassesItsOwnTests, which runs while Puppet Server starts here
	h := lab.StartNetwork(t).Boot("m1")
	master := h.StartPuppetMaster(lab.PuppetMasterOptions{HeapMB: 768})
	s := lab.NewSite(t, lab.SiteOptions{Puppet: master})
	removePmcheck(h)
	h.Copy(lab.DEB(t, "0.0.1"), debFile, 0o644)
	h.StartAncestor()
	installModule(t, h)
	t.Logf("Puppet Server starts in %v", s.Puppet.WaitReady(4*time.Minute))
	s.Balance(balancer)
	s.HAProxy.WaitEach(10*time.Second, lab.ServerStat.Healthy)
	t.Run("beside the old check", func(t *testing.T) { testBeside(t, s.With(t)) })
	t.Run("migrate", func(t *testing.T) { testMigrate(t, s.With(t)) })
	h.MustRun("systemctl", "stop", "xinetd")
	h.MustRun("dpkg", "--purge", "pmcheck")
	t.Run("module", func(t *testing.T) { testModule(t, s) })
}

// installModule installs the module that make packages makes, as install.md says.
func installModule(t *testing.T, h *lab.Host) {
	t.Helper()
	built, err := filepath.Glob(filepath.Join(filepath.Dir(lab.DEB(t, "0.0.1")), "pmcheck-pmcheck-*.tar.gz"))
	if err != nil || len(built) != 1 {
		t.Fatalf("built the modules %v, want one", built)
	}
	const archive = "/root/pmcheck-pmcheck.tar.gz"
	h.Copy(built[0], archive, 0o644)
	h.MustRun("puppet", "module", "install", "--ignore-dependencies", "--target-dir", productionModules, archive)
}

// testBeside: the module changes nothing as long as xinetd has the port.
func testBeside(t *testing.T, s *lab.Site) {
	out := run(t, s, class(s, ""), failed, mixed)
	const says = "another program listens on port 9200, so nothing is changed"
	for _, want := range []string{`"xinetd"`, says, "pmcheck::migrate"} {
		if !strings.Contains(out, want) {
			t.Errorf("the run does not say %q:\n%s", want, out)
		}
	}
	for _, path := range []string{"/usr/bin/pmcheck", "/etc/pmcheck", "/etc/systemd/system/pmcheck.socket.d"} {
		if _, err := s.Host.Run("test", "-e", path); err == nil {
			t.Errorf("the run has made %s", path)
		}
	}
	s.WaitAnswer(200, "", wait)
}

// testMigrate runs the script that moves the port from xinetd to pmcheck. The balancer must
// never have the master DOWN, neither on success nor when pmcheck fails before or after it
// has the port.
func testMigrate(t *testing.T, s *lab.Site) {
	s.Host.Copy(lab.File(t, "examples/migrate-from-xinetd/migrate.sh"), "/root/migrate.sh", 0o755)
	// The old check does not answer this host itself, and pmcheck must not answer others than the balancer.
	s.Host.MustRun("sed", "-i", "s/^}/only_from = "+lab.BridgeAddress+"\\n}/", lab.AncestorFile)
	s.Host.MustRun("systemctl", "reload", "xinetd")
	s.Host.MustRun("systemctl", append([]string{"mask"}, migratedUnits()...)...)
	s.Host.MustRun("apt-get", "install", "-y", "-q", debFile) // while its port is taken
	assertUnits(t, s, "masked")
	old := s.Host.MustRun("cat", lab.AncestorFile)
	const config, dropin = "/etc/pmcheck/pmcheck.yaml", "/etc/systemd/system/pmcheck.service.d/broken.conf"
	for _, step := range []struct {
		name, file, content string
		ok                  bool
		client              string // what a client does meanwhile, every half a second
		owner               string // of the port, at the end
		says                string
	}{
		{
			name:    "pmcheck sees no master",
			file:    config,
			content: "probe: {address: localhost:8141}\n",
			owner:   "xinetd",
			says:    "so nothing was changed",
		},
		{
			name:    "pmcheck answers 503",
			file:    dropin,
			content: "[Service]\nEnvironment=PMCHECK_PROBE_ADDRESS=localhost:8141\n",
			owner:   "xinetd",
			says:    "pmcheck does not answer 200; xinetd has the port back",
		},
		{
			name:    "pmcheck does not start",
			file:    dropin,
			content: "[Service]\nExecStart=\nExecStart=/bin/false\n",
			owner:   "xinetd",
			says:    "pmcheck does not start; xinetd has the port back",
		},
		{
			name:   "pmcheck refuses what a client asks",
			client: "curl --silent --max-time 1 http://" + s.Host.Address + ":9200/puppet",
			owner:  "xinetd",
			says:   "asks GET /puppet HTTP/1.1; xinetd has the port back",
		},
		{
			name:   "a client sends no request",
			client: "timeout 1 bash -c 'exec 3<>/dev/tcp/" + s.Host.Address + "/9200; cat <&3'",
			owner:  "xinetd",
			says:   "connects and sends no request; xinetd has the port back",
		},
		{name: "success", ok: true, owner: "pmcheck", says: "pmcheck answers on port 9200"},
		{name: "already migrated", owner: "pmcheck", says: "migrated already"},
	} {
		t.Run(step.name, func(t *testing.T) {
			if step.name == "pmcheck does not start" { // an operator may have unmasked it already
				s.Host.MustRun("systemctl", append([]string{"unmask"}, migratedUnits()...)...)
			}
			if step.file != "" {
				before, err := s.Host.Run("cat", step.file)
				s.Host.WriteFile(step.file, step.content, 0o644)
				t.Cleanup(func() {
					if err != nil {
						s.Host.MustRun("rm", step.file)
					} else {
						s.Host.WriteFile(step.file, before+"\n", 0o644)
					}
					s.Host.MustRun("systemctl", "daemon-reload")
				})
				s.Host.MustRun("systemctl", "daemon-reload")
			}
			if step.client != "" {
				lab.StartProgram(t, s.Net.Command("sh", "-c", "while sleep 0.5; do "+step.client+"; done"))
			}
			before := s.Host.MustRun("cat", config)
			out := migrate(t, s.With(t), step.ok, step.owner)
			if now := s.Host.MustRun("cat", config); !step.ok && now != before {
				t.Errorf("the migration failed, and %s has changed:\n%s", config, now)
			}
			if !strings.Contains(out, step.says) {
				t.Errorf("migrate.sh does not say %q:\n%s", step.says, out)
			}
		})
	}
	const allowed = `allow: ["` + lab.BridgeAddress + `", "127.0.0.0/8", "::1"]`
	const believed = "balancers: [" + lab.BridgeAddress + "]"
	if got := s.Host.MustRun("cat", config); !strings.HasSuffix(got, "\n"+allowed+"\n"+believed) {
		t.Errorf("the operator agreed, and %s does not end with %q and %q:\n%s", config, allowed, believed, got)
	}
	if kept, err := s.Host.Run("cat", lab.AncestorFile+".before-pmcheck"); kept != old {
		t.Errorf("a second migration changes the copy for the way back: %v\n%s", err, kept)
	}
	t.Run("the way back, and the task", func(t *testing.T) { testTask(t, s.With(t)) })
}

// testTask goes the way back, as the page says, and migrates again by the task of the module.
func testTask(t *testing.T, s *lab.Site) {
	_, page, _ := strings.Cut(lab.ReadFile(t, "examples/migrate-from-xinetd/README.md"), "The way back:\n\n```sh\n")
	lines, _, found := strings.Cut(page, "```\n")
	if !found {
		t.Fatal("the page does not have the way back")
	}
	s.Host.MustRun("sh", "-ec", strings.ReplaceAll(lines, "NAME", filepath.Base(lab.AncestorFile)))
	s.WaitAnswer(200, "", wait)

	migrate := func() string {
		return s.Host.MustRun("env", "PT__installdir="+productionModules, "sh",
			productionModules+"/pmcheck/tasks/migrate.sh")
	}
	if out := migrate(); !strings.HasPrefix(out, `{"migrated": true, "output": "`) {
		t.Errorf("the task says %s", out)
	}
	assertUnits(t, s, "enabled")
	if out := migrate(); !strings.HasPrefix(out, `{"migrated": false, `) {
		t.Errorf("the second time, the task says %s", out)
	}
	if log := s.HAProxy.Log(); strings.Contains(log, "is DOWN") {
		t.Errorf("HAProxy had the master DOWN:\n%s", log)
	}
}

// migrate runs the script for an operator who agrees to what it offers, and returns its output.
func migrate(t *testing.T, s *lab.Site, ok bool, owner string) (out string) {
	t.Helper()
	answers := s.Record(20 * time.Millisecond)
	out, err := s.Host.Run("sh", "-c", "echo y | /root/migrate.sh 2>&1")
	if answers.Count(lab.NoAnswer) > 0 {
		lab.Pause(t, 4*time.Second) // two more checks, so that HAProxy has logged a DOWN
	}
	answers.Stop()
	t.Logf("%s\nanswers: %s; HAProxy: %+v", out, answers, s.HAProxy.Stat("puppet", "m1"))
	if (err == nil) != ok {
		t.Errorf("migrate.sh returns %v, want success: %v\n%s", err, ok, out)
	}
	if log := s.HAProxy.Log(); strings.Contains(log, "is DOWN") {
		t.Errorf("HAProxy had the master DOWN:\n%s", log)
	}
	s.HAProxy.WaitStatus("puppet", "m1", "UP", 20*time.Second)
	if got, _ := s.Host.Run("ss", "-ltnpH", "sport = :9200"); !strings.Contains(got, `"`+owner+`"`) {
		t.Errorf("the listener on the port is %s, want %s", got, owner)
	}
	s.WaitAnswer(200, "", wait)
	assertUnits(t, s, map[string]string{"pmcheck": "enabled", "xinetd": "masked"}[owner])
	return out
}

// migratedUnits are the units that the migration enables: those that bind the port, and the guard,
// which would wait for a daemon that is masked.
func migratedUnits() []string {
	return []string{"pmcheck.socket", "pmcheck.service", "pmcheck-guard@puppetserver.service"}
}

func assertUnits(t *testing.T, s *lab.Site, want string) {
	t.Helper()
	for _, unit := range migratedUnits() {
		if got, _ := s.Host.Run("systemctl", "is-enabled", unit); strings.TrimSpace(got) != want {
			t.Errorf("%s is %s, want %s", unit, got, want)
		}
	}
}
