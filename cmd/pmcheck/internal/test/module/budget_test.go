package module_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestBudget sets up the drain budget in both ways: PostgreSQL on one host, a master that uses it on another.
func TestBudget(t *testing.T) {
	lab.Real(t)
	lab.Need(t, "psql", "postgresql")
	t.Run("Puppet", func(t *testing.T) {
		testBudget(t, func(db *puppetHost, version string) func() {
			database := fmt.Sprintf(`
class { 'postgresql::globals': version => '%s' }
class { 'postgresql::server': listen_addresses => '*' }
class { 'pmcheck::database':
  masters => ['/m\d\.lab\.example/'],
}
`, version)
			copyModule(t, db.Host, productionModules)
			db.WriteFile("/root/site.pp", database, 0o644)
			apply := func(want int) {
				exits(t, db.Command("puppet", "apply", "--detailed-exitcodes", "--color=false", "/root/site.pp"), want)
			}
			apply(changed)
			apply(unchanged)
			return func() { apply(changed) }
		})
	})
	t.Run("script", func(t *testing.T) {
		testBudget(t, func(db *puppetHost, version string) func() {
			db.WriteFile("/etc/postgresql/"+version+"/main/conf.d/lab.conf", "listen_addresses = '*'\n", 0o644)
			db.MustRun("systemctl", "start", "postgresql@"+version+"-main")
			db.Copy(lab.File(t, "examples/budget/budget.sh"), "/root/budget.sh", 0o644)
			db.Copy(lab.File(t, "packaging/puppet/files/schema.sql"), "/root/schema.sql", 0o644)
			run := func() { db.MustRun("sh", "-c", `sh /root/budget.sh 'm\d\.lab\.example' </root/schema.sql`) }
			run()
			run()
			ident := db.MustRun("sh", "-c", "cat /etc/postgresql/*/main/pg_ident.conf")
			if n := strings.Count(ident, "\npmcheck "); n != 1 {
				t.Errorf("after the second run pg_ident.conf has %d lines of pmcheck:\n%s", n, ident)
			}
			key := db.MustRun("stat", "-c", "%a %U %G", "/etc/pmcheck-database/ssl_key_file.pem")
			if found := db.MustRun("find", "/var/lib/postgresql", "-name", "*.pem"); found != "" || key != "640 root postgres" {
				t.Errorf("the key is %q; PostgreSQL's data directory, which is backed up, has %q", key, found)
			}
			return run
		})
	})
}

// testBudget uses the database that setUp makes, with a certificate that is revoked in the end. setUp returns what
// has PostgreSQL read the new CRL.
func testBudget(t *testing.T, setUp func(db *puppetHost, version string) (renew func())) {
	ca, err := checktest.NewCA("Puppet CA: lab")
	lab.Must(t, err)
	network := lab.StartNetwork(t)
	db := bootPuppetHost(t, network, ca, "db")
	master := bootPuppetHost(t, network, ca, "m1")
	renew := setUp(db, newCluster(db.Host))
	site := lab.NewSite(t, lab.SiteOptions{
		Host: master.Host,
		YAML: "budget: {database: 'postgresql://db.lab.example/pmcheck'}\n",
	})
	site.Install(lab.DEB(t, "0.0.1"))
	master.MustRun("pmcheck", "drain", "--now")
	lab.WaitFor(t, 20*time.Second, 100*time.Millisecond, func() error { // it does not serve, and waits for no slot
		got, err := master.Run("pmcheck", "budget")
		if !strings.Contains(got, master.FQDN()) {
			return fmt.Errorf("pmcheck budget prints %q, %v", got, err)
		}
		return nil
	})
	if out, err := master.logIn("pmcheck"); err != nil || !strings.Contains(out, master.FQDN()) {
		t.Errorf("a master reads the slots: %v\n%s", err, out)
	}
	if out, err := db.logIn("pmcheck"); err == nil || !strings.Contains(out, "certificate authentication failed") {
		t.Errorf("a host that is no master logs in: %v\n%s", err, out)
	}
	if out, err := master.logIn("pmcheck_admin"); err == nil || !strings.Contains(out, "no pg_hba.conf entry") {
		t.Errorf("a master logs in as the owner: %v\n%s", err, out)
	}

	ca.Revoke(master.leaf.Certificate)
	db.writeCRL(ca)
	renew()
	if out, err := master.logIn("pmcheck"); err == nil || !strings.Contains(out, "revoked") {
		t.Errorf("a revoked certificate logs in: %v\n%s", err, out)
	}
}

// newCluster replaces the cluster that the host has from this machine, and returns its
// version. Puppet starts it.
func newCluster(h *lab.Host) (version string) {
	version = h.MustRun("sh", "-c", "ls /usr/lib/postgresql | sort -V | tail -n 1")
	h.MustRun("rm", "-rf", "/etc/postgresql", "/var/lib/postgresql/"+version)
	h.MustRun("pg_createcluster", version, "main")
	return version
}

// puppetHost is a host with a Puppet certificate, without Puppet Server.
type puppetHost struct {
	*lab.Host
	t    *testing.T
	leaf *checktest.Leaf
}

const puppetSSL = "/var/lib/puppet/ssl"

func bootPuppetHost(t *testing.T, network *lab.Network, ca *checktest.CA, name string) *puppetHost {
	t.Helper()
	h := &puppetHost{Host: network.Boot(name), t: t}
	removePmcheck(h.Host)
	h.MustRun("find", puppetSSL, "-mindepth", "1", "-delete")
	h.WriteFile("/etc/puppet/puppet.conf", "[main]\ncertname = "+h.FQDN()+"\n", 0o644)
	var err error
	h.leaf, err = ca.Issue(checktest.Template{Name: h.FQDN()})
	lab.Must(t, err)
	key, err := h.leaf.KeyPEM()
	lab.Must(t, err)
	h.WriteFile(h.certificate(), string(h.leaf.CertificatePEM()), 0o644)
	h.WriteFile(h.key(), string(key), 0o640)
	h.WriteFile(puppetSSL+"/certs/ca.pem", string(ca.Bundle()), 0o644)
	h.writeCRL(ca)
	h.MustRun("chgrp", "-R", "puppet", puppetSSL) // as Puppet has it
	return h
}

func (h *puppetHost) certificate() string { return puppetSSL + "/certs/" + h.FQDN() + ".pem" }

func (h *puppetHost) key() string { return puppetSSL + "/private_keys/" + h.FQDN() + ".pem" }

func (h *puppetHost) writeCRL(ca *checktest.CA) {
	h.t.Helper()
	crl, err := ca.CRL(time.Now().Add(24 * time.Hour))
	lab.Must(h.t, err)
	h.WriteFile(puppetSSL+"/crl.pem", string(crl), 0o644)
}

// logIn connects to the database with the host's certificate. Puppet lets its group read
// the key, and psql refuses such a key, so it gets a copy.
func (h *puppetHost) logIn(role string) (output string, err error) {
	const key = "/root/key.pem"
	h.MustRun("install", "-m", "0600", h.key(), key)
	return h.Run("psql", "-X", "-At", "-c", "select pmcheck.look('puppet', '30m', '1')", "-d", fmt.Sprintf(
		"host=db.lab.example dbname=pmcheck user=%s sslmode=verify-full sslrootcert=%s sslcert=%s sslkey=%s",
		role, puppetSSL+"/certs/ca.pem", h.certificate(), key))
}
