//go:build linux

package packages_test

import (
	"testing"
	"time"
)

// asDaemon is a prefix for a command that runs as the daemon's user with Puppet's group.
const asDaemon = "setpriv --reuid pmcheck --regid pmcheck --groups puppet "

// TestDaemonCannotReadTheCA reads the keys of the CA and of eyaml from within the unit.
// Outside the unit, the same user can read them.
func TestDaemonCannotReadTheCA(t *testing.T) {
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
	s.waitForOutput(10*time.Second, "active", "systemctl", "is-active", "pmcheck.service")
	const inside = "nsenter -t $(systemctl show -P MainPID pmcheck.service) -m -r -w "
	s.assertPrints("secret", "sh", "-c", inside+asDaemon+"cat "+own)
	for _, path := range secrets {
		s.assertPrints("secret", "sh", "-c", asDaemon+"cat "+path)
		if out, err := s.Host.Run("sh", "-c", inside+asDaemon+"cat "+path); err == nil {
			t.Errorf("the daemon can read %s: %s", path, out)
		}
	}
}
