package packages_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// Few, to spare whoever waits for the tests; with -args -restarts 200 many.
var (
	restarts = flag.Int("restarts", 15, "restarts under load")
	upgrades = flag.Int("upgrades", 5, "upgrades and downgrades under load")
)

// TestLifecycle takes one host with a real Puppet Server through the life of the
// package.
func TestLifecycle(t *testing.T) {
	r := boot(t, "master")
	master := r.StartPuppetMaster(lab.PuppetMasterOptions{})
	r.install(older)
	master.WaitReady(2 * time.Minute)
	r.awaitAnswer(time.Minute, serving)
	r.await(10*time.Second, "active", "systemctl", "is-active", "pmcheck-guard@puppetserver.service")

	for _, part := range []struct {
		name string
		test func(*testing.T, *rig)
	}{
		{"directories", wantDirectories},
		{"restarts", restart},
		{"upgrades", upgrade},
		{"a held master", upgradeHeld},
		{"crash", crash},
		{"watchdog", watchdog},
		{"stop", stopAndStart},
		{"without sockets", withoutSockets},
		{"journal", journal},
		{"remove and purge", removeAndPurge},
		{"a new host stays new", staysNew},
	} {
		t.Run(part.name, func(t *testing.T) {
			on := *r
			on.t = t
			part.test(t, &on)
		})
	}
	r.want("running", "systemctl", "is-system-running")
}

// wantDirectories looks at who could take the master out.
func wantDirectories(_ *testing.T, r *rig) {
	for path, want := range map[string]string{
		"/var/lib/pmcheck":          "755 root root",
		"/var/lib/pmcheck/holds":    "755 root root",
		"/run/pmcheck":              "755 root root",
		"/run/pmcheck/holds":        "755 root root",
		"/run/pmcheck/pmcheck.sock": "666 root root",
	} {
		r.want(want, "stat", "-c", "%a %U %G", path)
	}
	pid := r.MustRun("systemctl", "show", "-P", "MainPID", "pmcheck.service")
	r.want("pmcheck", "stat", "-c", "%U", "/proc/"+pid)
	// What was chosen by the administrator survives a boot and an upgrade.
	r.MustRun("chmod", "2775", "/var/lib/pmcheck/holds")
	r.MustRun("systemd-tmpfiles", "--create", "pmcheck.conf")
	r.want("2775", "stat", "-c", "%a", "/var/lib/pmcheck/holds")
	r.MustRun("chmod", "755", "/var/lib/pmcheck/holds")
}

func restart(t *testing.T, r *rig) {
	stop := r.checker(serving)
	for range *restarts {
		r.MustRun("systemctl", "restart", "pmcheck")
	}
	t.Logf("measured: %d checks across %d restarts", stop(), *restarts)
}

func upgrade(t *testing.T, r *rig) {
	stop := r.checker(serving)
	version := older
	for range *upgrades {
		version = map[string]string{older: newer, newer: older}[version]
		r.install(version)
	}
	t.Logf("measured: %d checks across %d upgrades and downgrades", stop(), *upgrades)
	if out := r.MustRun("pmcheck", "version"); out != "pmcheck "+version {
		t.Errorf("version after the last upgrade: %s", out)
	}
	r.want("", "find", "/var/lib/pmcheck/holds", "-name", "*.json")
	r.MustRun("test", "-e", "/var/lib/pmcheck/holds/.initialized")
	r.want("active", "systemctl", "is-active", "pmcheck-guard@puppetserver.service")
}

func upgradeHeld(t *testing.T, r *rig) {
	r.MustRun("pmcheck", "drain", "--reason", "test")
	stop := r.checker("503 drain")
	r.install(older)
	r.install(newer)
	r.MustRun("systemctl", "restart", "pmcheck")
	t.Logf("measured: %d checks of a drained master", stop())
	r.MustRun("pmcheck", "ready")
	r.awaitAnswer(10*time.Second, serving)
}

// crash kills the daemon.
func crash(_ *testing.T, r *rig) {
	before := r.MustRun("systemctl", "show", "-P", "NRestarts", "pmcheck.service")
	r.MustRun("systemctl", "kill", "--signal=KILL", "pmcheck.service")
	r.await(20*time.Second, "changed", "sh", "-c",
		`[ "$(systemctl show -P NRestarts pmcheck.service)" = `+before+` ] || echo changed`)
	r.awaitAnswer(20*time.Second, serving)
	r.want("active", "systemctl", "is-active", "pmcheck.socket")
}

// watchdog stops the daemon as a debugger would.
func watchdog(t *testing.T, r *rig) {
	pid := r.MustRun("systemctl", "show", "-P", "MainPID", "pmcheck.service")
	r.MustRun("kill", "-STOP", pid)
	stopped := time.Now()
	r.await(time.Minute, "watchdog", "sh", "-c", "journalctl -o cat -u pmcheck.service | grep -om1 watchdog")
	r.awaitAnswer(20*time.Second, serving)
	t.Logf("measured: SIGSTOP to a good answer: %v", time.Since(stopped).Round(100*time.Millisecond))
	if now := r.MustRun("systemctl", "show", "-P", "MainPID", "pmcheck.service"); now == pid {
		t.Errorf("the daemon is still process %s", now)
	}
}

// stopAndStart stops the service: nobody may start it again but who stopped it.
func stopAndStart(t *testing.T, r *rig) {
	r.MustRun("systemctl", "stop", "pmcheck")
	for _, unit := range []string{"pmcheck.service", "pmcheck.socket", "pmcheck-status.socket"} {
		r.want("inactive", "systemctl", "is-active", unit)
	}
	if got, err := r.ask("/"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a stopped pmcheck: %q, %v", got, err)
	}
	r.want("inactive", "systemctl", "is-active", "pmcheck.service")
	r.MustRun("systemctl", "start", "pmcheck")
	r.awaitAnswer(10*time.Second, serving)
	r.want("active", "systemctl", "is-active", "pmcheck.socket")
	r.MustRun("pmcheck", "status")
}

// withoutSockets has the daemon bind the port itself.
func withoutSockets(_ *testing.T, r *rig) {
	r.MustRun("systemctl", "disable", "pmcheck.socket")
	r.MustRun("systemctl", "stop", "pmcheck")
	r.MustRun("systemctl", "start", "pmcheck")
	r.awaitAnswer(10*time.Second, serving)
	r.want("inactive", "systemctl", "is-active", "pmcheck.socket")
	r.install(older) // which leaves it so
	r.want("disabled", "systemctl", "is-enabled", "pmcheck.socket")
	r.awaitAnswer(10*time.Second, serving)
	r.MustRun("systemctl", "enable", "pmcheck.socket")
	r.MustRun("systemctl", "restart", "pmcheck")
	r.want("active", "systemctl", "is-active", "pmcheck.socket")
	r.awaitAnswer(10*time.Second, serving)
}

func journal(_ *testing.T, r *rig) {
	r.MustRun("pmcheck", "drain", "--hold", "journal", "--reason", "two words")
	r.MustRun("pmcheck", "ready", "--hold", "journal")
	r.await(10*time.Second, "mode changed", "sh", "-c",
		"journalctl -q --no-pager -o cat PMCHECK_SERVICE=server PRIORITY=6 PMCHECK_MODE=drain | tail -1 | cut -d' ' -f1,2")
}

func removeAndPurge(t *testing.T, r *rig) {
	r.MustRun("pmcheck", "maint", "--reason", "to be installed again")
	r.MustRun("dpkg", "--remove", "pmcheck")
	r.MustRun("test", "-e", "/var/lib/pmcheck/holds/operator.json")
	r.want("active", "systemctl", "is-active", "puppetserver")
	r.install(newer)
	r.awaitAnswer(10*time.Second, "503 maint")

	r.MustRun("dpkg", "--purge", "pmcheck")
	for _, path := range []string{"/var/lib/pmcheck", "/run/pmcheck", "/etc/pmcheck", "/usr/bin/pmcheck", "/usr/libexec/pmcheck"} {
		r.MustRun("test", "!", "-e", path)
	}
	r.want("", "find", "/etc/systemd/system", "/var/lib/systemd/deb-systemd-helper-enabled", "-name", "*pmcheck*")
	r.want("pmcheck", "id", "-nG", "pmcheck")
	r.install(older)
	r.awaitAnswer(20*time.Second, serving)
}

// staysNew upgrades a host that waits to be made ready for the first time.
func staysNew(t *testing.T, r *rig) {
	r.MustRun("dpkg", "--purge", "pmcheck")
	r.WriteFile("/etc/pmcheck/pmcheck.yaml", "initial_mode: maint\n", 0o644)
	r.install(older)
	r.awaitAnswer(20*time.Second, "503 maint")
	stop := r.checker("503 maint")
	r.install(newer)
	stop()
	r.want("initial_mode: maint", "cat", "/etc/pmcheck/pmcheck.yaml")
	r.MustRun("pmcheck", "ready", "--all")
	r.awaitAnswer(10*time.Second, serving)
}
