package packages_test

import (
	"strings"
	"testing"
	"time"
)

// TestPmcheckCanBeInstalledBeforePuppet: the daemon gets Puppet's group once that exists.
func TestPmcheckCanBeInstalledBeforePuppet(t *testing.T) {
	t.Parallel()
	s := boot(t, "early")
	s.Host.MustRun("sh", "-c", `
		dpkg --purge --force-depends puppetserver puppet-agent puppet >/dev/null
		dpkg-statoverride --list | while read -r user group mode path; do dpkg-statoverride --remove "$path"; done
		rm -rf /etc/puppet /var/lib/puppet && userdel puppet
		test -z "$(getent group puppet)"`)
	s.install(older)
	s.assertActive()
	s.assertPrints("running", "systemctl", "is-system-running")
	s.WaitRefusal("unhealthy: refused", 10*time.Second)
	s.assertPrints("pmcheck", "id", "-nG", "pmcheck")
	pid := s.Host.MustRun("systemctl", "show", "-P", "MainPID", "pmcheck.service")

	// Puppet is installed: its package creates these in this order.
	s.Host.MustRun("sh", "-c", `
		mkdir -p /etc/puppet /var/lib/puppet/ssl && echo '[main]' >/etc/puppet/puppet.conf
		groupadd --system puppet`)
	s.waitForOutput(20*time.Second, "pmcheck puppet", "id", "-nG", "pmcheck")
	s.assertPrints("644 root root\n640 root shadow", "stat", "-c", "%a %U %G", "/etc/group", "/etc/gshadow")
	// A process keeps the groups that it was started with.
	s.waitForOutput(20*time.Second, "another", "sh",
		"-c", `[ "$(systemctl show -P MainPID pmcheck.service)" = `+pid+` ] || echo another`)
	s.waitForOutput(20*time.Second, "active", "systemctl", "is-active", "pmcheck.service")
	s.assertPrints("in it", "sh", "-c", `grep -qw "$(getent group puppet | cut -d: -f3)" <<END && echo in it
$(grep ^Groups: /proc/$(systemctl show -P MainPID pmcheck.service)/status)
END`)
	for _, unit := range []string{"pmcheck.service", "pmcheck-puppet-group.service"} {
		s.Host.MustRun("systemd-analyze", "security", "--no-pager", "--threshold=13", unit)
	}
}

// TestCheckSeesWhatTheDaemonSees: a puppet.conf that any user may read, but not the daemon, whose unit hides it.
func TestCheckSeesWhatTheDaemonSees(t *testing.T) {
	t.Parallel()
	s := boot(t, "sandbox")
	const conf = "/home/site/puppet.conf"
	s.Host.MustRun("mkdir", "-p", "/home/site", "/etc/pmcheck")
	s.Host.WriteFile(conf, "[main]\ncertname = m1.example.test\n", 0o644)
	s.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "puppet: {conf: "+conf+"}\n", 0o644)
	s.install(older)
	s.assertActive()

	const hidden = conf + ": permission denied (the unit hides /home: InaccessiblePaths= or ProtectHome=)"
	commands := []string{"pmcheck check", "pmcheck config --check /etc/pmcheck/pmcheck.yaml", "pmcheck config"}
	for _, command := range append(commands, "pmcheck status") {
		out, _ := s.Host.Run("sh", "-c", command+" 2>&1") // the master does not run
		if said := strings.Join(strings.Fields(out), " "); !strings.Contains(said, hidden) {
			t.Errorf("%s does not say %q:\n%s", command, hidden, out)
		}
	}

	s.Host.MustRun("systemctl", "stop", "pmcheck.socket", "pmcheck-status.socket", "pmcheck.service")
	for _, command := range commands {
		out, _ := s.Host.Run("sh", "-c", command+" 2>&1")
		isCheck := strings.Contains(command, "--check")
		saysSo := strings.Contains(out, "pmcheck.service does not run")
		if strings.Contains(out, "permission denied") || saysSo == isCheck {
			t.Errorf("%s, while pmcheck.service does not run:\n%s", command, out)
		}
	}
}

// asDaemon is a prefix for a command that runs as the daemon's user with Puppet's group.
const asDaemon = "setpriv --reuid pmcheck --regid pmcheck --groups puppet "

// TestNoUnitCanReadTheCA reads the keys of the CA and of eyaml from within the daemon, the gate, and the guard, which
// is root. Outside the units, the same users can read them.
func TestNoUnitCanReadTheCA(t *testing.T) {
	t.Parallel()
	s := boot(t, "ca")
	secrets := []string{
		"/etc/puppet/puppetserver/ca/ca_key.pem",
		"/etc/puppetlabs/puppetserver/ca/ca_key.pem",
		"/etc/puppetlabs/puppet/ssl/ca/ca_key.pem", // by a link, as Puppet 7 migrates it
		"/var/lib/puppet/ssl/ca/ca_key.pem",
		"/etc/puppetlabs/puppet/eyaml/private_key.pkcs7.pem",
	}
	const own = "/var/lib/puppet/ssl/own.pem" // has the same permissions as the host's key, which the daemon needs
	s.Host.MustRun("sh", "-c", `
		mkdir -p /etc/puppet/puppetserver/ca /etc/puppetlabs/puppetserver/ca /var/lib/puppet/ssl/ca
		mkdir -p /etc/puppetlabs/puppet/eyaml /etc/puppetlabs/puppet/ssl
		ln -sfn /etc/puppetlabs/puppetserver/ca /etc/puppetlabs/puppet/ssl/ca
		for f in "$@"; do echo secret >"$f"; chgrp puppet "$f"; chmod 640 "$f"; done`, "sh",
		secrets[0], secrets[1], secrets[2], secrets[3], secrets[4], own)
	s.install(older)
	for _, path := range secrets {
		s.assertPrints("secret", "sh", "-c", asDaemon+"cat "+path)
	}

	const asleep = "[Service]\nType=exec\nExecStart=\nExecStart=/bin/sleep infinity\n"
	s.Host.WriteFile("/run/systemd/system/pmcheck-guard@lab.service.d/lab.conf", asleep, 0o644)
	s.Host.MustRun("systemctl", "daemon-reload")
	s.Host.MustRun("systemctl", "start", "pmcheck-gate.service", "pmcheck-guard@lab.service")
	for unit, user := range map[string]string{
		"pmcheck.service":           asDaemon,
		"pmcheck-gate.service":      asDaemon,
		"pmcheck-guard@lab.service": "",
	} {
		s.waitForOutput(10*time.Second, "active", "systemctl", "is-active", unit)
		inside := "nsenter -t $(systemctl show -P MainPID " + unit + ") -m -r -w " + user
		s.assertPrints("secret", "sh", "-c", inside+"cat "+own)
		for _, path := range secrets {
			if out, err := s.Host.Run("sh", "-c", inside+"cat "+path); err == nil {
				t.Errorf("%s can read %s: %s", unit, path, out)
			}
		}
	}
}

// TestADaemonAsksSystemdSeldom: the service, and the guard of each name that it may have, are asked about every 5 s,
// and asking changes nothing that would be asked about again.
func TestADaemonAsksSystemdSeldom(t *testing.T) {
	t.Parallel()
	s := boot(t, "seldom")
	s.Host.WriteFile("/etc/systemd/system/puppetserver.service",
		"[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n", 0o644)
	s.Host.MustRun("systemctl", "enable", "--now", "puppetserver.service")
	s.install(older)
	// Each state that its guard goes through is a signal, and a reason to ask.
	s.waitForOutput(20*time.Second, "active", "systemctl", "is-active", "pmcheck-guard@puppetserver.service")
	s.Host.MustRun("systemctl", "restart", "pmcheck.service")

	const calls = "type='method_call',destination='org.freedesktop.systemd1'"
	heard, _ := s.Host.Run("timeout", "15", "dbus-monitor", "--system", calls) // ends by the timeout
	reads := strings.Count(heard, "member=ListUnitsByNames")
	t.Logf("measured: asked %d times in 15 s", reads)
	if reads < 2 || reads > 5 {
		t.Errorf("asked %d times in 15 s, want 3:\n%.3000s", reads, heard)
	}
}
