package pool_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A doubt is something that pmcheck cannot find out, match or agree on by itself, while Puppet Server serves every
// agent. It comes to all masters at once, as a file does that they share.
type doubt struct {
	kind, name string
	apply      string // what a shell does on each master
	undo       string
	status     string // what "pmcheck status" says then
	restarts   bool   // it comes with a restart or a reload of Puppet Server, for which one master leaves after the other
}

const (
	puppetConf   = "/etc/puppet/puppet.conf"
	saveConf     = "cp -a " + puppetConf + " /root/puppet.conf; "
	restoreConf  = "mv /root/puppet.conf " + puppetConf + "; systemctl restart pmcheck; pmcheck wait --for ready"
	restartAgain = "; systemctl restart pmcheck"
	authConf     = "/etc/puppet/puppetserver/conf.d/auth.conf"

	ciphersConf   = "/etc/puppet/puppetserver/conf.d/ciphers.conf"
	restartPuppet = "; systemctl restart puppetserver; pmcheck wait --for ready"
)

// edited returns a doubt that comes with a puppet.conf that a shell changes, and a restart of pmcheck.
func edited(kind, name, change, says string) doubt {
	return doubt{
		kind:   kind,
		name:   name,
		apply:  saveConf + change + restartAgain,
		undo:   restoreConf,
		status: says,
	}
}

func doubts() []doubt {
	const own, syntax = "what it cannot find out", "puppet.conf as Puppet reads it"
	inMain := func(line string) string { return "sed -i '/^certname/a " + line + "' " + puppetConf }
	list := []doubt{
		edited(own, "`ssldir = $vardir/ssl-$server`, which Puppet resolves", "ln -sfn /var/lib/puppet/ssl "+
			"/var/lib/puppet/ssl-puppet; sed -i '/^server = /d' "+puppetConf+"; "+
			inMain("vardir = /var/lib/puppet\\nssldir = $vardir/ssl-$server"), "identity ok"),
		edited(own, "mode 0600", "chmod 0600 "+puppetConf, "puppet-conf-unreadable"),
		edited(own, "a relative path", inMain("hostcert = certs/here.pem"), "puppet-conf-mistake"),
		edited(own, "a certname that is none", "sed -i 's/^certname.*/certname = not a name/' "+puppetConf,
			"certname-not-known"),
		edited(syntax, "text behind a section's head", "sed -i 's/^.main.$/[main] # everywhere/' "+puppetConf,
			"puppet-conf-mistake"),
		edited(syntax, "`${confdir}` in a value", inMain("ssldir = ${confdir}/ssl"), "puppet-conf-mistake"),
		edited(syntax, "a byte order mark", "sed -i '1s/^/\\xef\\xbb\\xbf/' "+puppetConf, "puppet-conf-mistake"),
		{
			kind: "what masters share",
			name: "`auth.conf` without the status rules",
			apply: "cp -a " + authConf + " /root/auth.conf; sed -i '0,/rules: \\[/s//rules: [ {match-request: {path: " +
				"\"\\/status\", type: path, method: get}, deny: \"*\", sort-order: 1, name: \"no status\"},/' " + authConf +
				"; systemctl reload puppetserver; pmcheck wait --for ready",
			undo:     "mv /root/auth.conf " + authConf + "; systemctl reload puppetserver; pmcheck wait --for ready",
			status:   "auth-denied",
			restarts: true,
		},
		{
			kind: "TLS that agents accept",
			name: "RSA key exchange alone, as the Foreman's module had it",
			apply: "echo 'webserver: {cipher-suites: [TLS_RSA_WITH_AES_256_CBC_SHA256, TLS_RSA_WITH_AES_256_CBC_SHA], " +
				"ssl-protocols: [TLSv1.2]}' >" + ciphersConf + restartPuppet,
			undo:     "rm " + ciphersConf + restartPuppet,
			status:   "healthy: ok",
			restarts: true,
		},
	}
	if !lab.Long() {
		return []doubt{list[1], list[4], list[7]}
	}
	return list
}

// TestDoubtsTakeNoMasterOut brings each doubt to both masters of a pool under agents: no run fails, and balancers lose
// no server to it. While it lasts, a master that is stopped is out at once.
func TestDoubtsTakeNoMasterOut(t *testing.T) {
	lab.Real(t)
	agents := mix{quick: 4}
	p := startPool(t, alike(2), 3, agents)
	p.balance(quickStart(p.installPmcheck()))
	table := "| Kind | Doubt | Runs | Failed | Fewest UP | Stopped meanwhile: 503 after |\n" +
		"| --- | --- | ---: | ---: | ---: | ---: |\n"
	for _, d := range doubts() {
		t.Run(d.kind+": "+d.name, func(t *testing.T) {
			table += p.with(t).doubts(d, agents)
		})
	}
	lab.Publish(t, "doubts", table)
	t.Logf("measured:\n%s", table)
}

// doubts returns the row of a doubt.
func (p *pool) doubts(d doubt, agents mix) string {
	defer func() { lab.Must(p.t, p.each(d.undo)) }()
	r := p.measure(scenario{
		name: d.name,
		mix:  agents,
		operate: func(p *pool) error {
			if err := p.each(d.apply); err != nil {
				return err
			}
			for _, m := range p.masters {
				p.waitForStatus(m, d.status)
			}
			return nil
		},
	}, form{runs: 16})
	want := len(p.masters)
	if d.restarts {
		want--
	}
	if r.fewest < want {
		p.t.Errorf("only %d servers were UP, want %d", r.fewest, want)
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %s |\n", d.kind, d.name, len(r.runs), len(r.failed()), r.fewest,
		tenths(p.stopped()))
}

// waitForStatus waits until a master says so.
func (p *pool) waitForStatus(m *lab.PuppetMaster, want string) {
	p.t.Helper()
	lab.WaitFor(p.t, time.Minute, 500*time.Millisecond, func() error {
		out, _ := m.Host.Run("pmcheck", "status") // its exit status is that of the verdict
		if !strings.Contains(string(out), want) {
			return fmt.Errorf("%s does not say %q:\n%s", m.Host.Name, want, out)
		}
		return nil
	})
}

// stopped stops the process of the first master, and returns how long it was answered 200. Then it goes on.
func (p *pool) stopped() time.Duration {
	p.t.Helper()
	m := p.masters[0]
	ask := func() string {
		out, _ := m.Host.Run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "localhost:9200/")
		return string(out)
	}
	m.Host.MustRun("systemctl", "kill", "-s", "STOP", "puppetserver")
	began := time.Now()
	lab.WaitFor(p.t, 30*time.Second, 100*time.Millisecond, func() error {
		if code := ask(); code != "503" {
			return fmt.Errorf("a master that is stopped is answered %s", code)
		}
		return nil
	})
	took := time.Since(began)
	m.Host.MustRun("systemctl", "kill", "-s", "CONT", "puppetserver")
	lab.WaitFor(p.t, time.Minute, 100*time.Millisecond, func() error {
		if code := ask(); code != "200" {
			return fmt.Errorf("a master that goes on is answered %s", code)
		}
		return nil
	})
	return took
}
