package pool_test

import (
	"context"
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
	needs      string // a test in shell on the master, without which this is no doubt but a fault
	apply      string // what a shell does on each master
	undo       string
	status     string // what "pmcheck status" says then
	restarts   bool   // it comes with a restart or a reload of Puppet Server, for which one master leaves after the other
}

const (
	puppetConf   = "/etc/puppet/puppet.conf"
	saveConf     = "cp -a " + puppetConf + " /root/puppet.conf; "
	restoreConf  = "mv /root/puppet.conf " + puppetConf + startAgain + restartAgain + "; pmcheck wait --for ready"
	restartAgain = "; systemctl restart pmcheck"
	startAgain   = "; systemctl start puppetserver" // what was killed while the doubt lasted
	authConf     = "/etc/puppet/puppetserver/conf.d/auth.conf"
	daemonConf   = "/etc/pmcheck/pmcheck.yaml"
	stuckAfter   = 20 * time.Second
	instances    = 3 // of JRuby, of each master

	ciphersConf = "/etc/puppet/puppetserver/conf.d/ciphers.conf"
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

// suites returns a doubt that comes with all that a webserver.conf has, and a restart of Puppet Server.
func suites(name, list, needs string) doubt {
	const restart = "; systemctl restart puppetserver; pmcheck wait --for ready"
	return doubt{
		kind:  "TLS that agents accept",
		name:  name,
		needs: needs,
		apply: "echo 'webserver: {cipher-suites: [" + list + "], ssl-protocols: [TLSv1.2]}' >" + ciphersConf +
			restart,
		undo:     "rm " + ciphersConf + restart,
		status:   "healthy: ok",
		restarts: true,
	}
}

// hungHolds is a file server that hangs: bindfs, which SIGSTOP stops. No command waits for it when it is told to end.
func hungHolds() doubt {
	const holds = "/var/lib/pmcheck/holds"
	return doubt{
		kind:  "what it cannot find out",
		name:  "the file system of the holds hangs",
		needs: "command -v bindfs",
		apply: `[ -e /dev/fuse ] || mknod -m 666 /dev/fuse c 10 229
			bindfs -o nonempty ` + holds + " " + holds + restartAgain + `; pmcheck wait --for ready
			pkill -STOP -x bindfs
			for command in 'drain --wait' 'guard stop puppetserver.service'
			do timeout --kill-after=5 0.5 pmcheck $command || [ $? != 137 ]; done`,
		undo:   "pkill -CONT -x bindfs; umount " + holds + "; pmcheck ready --all" + startAgain + restartAgain,
		status: "its file system does not answer",
	}
}

func doubts() []doubt {
	const own, syntax = "what it cannot find out", "puppet.conf as Puppet reads it"
	inMain := func(line string) string { return "sed -i '/^certname/a " + line + "' " + puppetConf }
	return []doubt{
		edited(own, "`ssldir = $vardir/ssl-$server`, which Puppet resolves", "ln -sfn /var/lib/puppet/ssl "+
			"/var/lib/puppet/ssl-puppet; sed -i '/^server = /d' "+puppetConf+"; "+
			inMain("vardir = /var/lib/puppet\\nssldir = $vardir/ssl-$server"), "identity ok"),
		edited(own, "mode 0600", "chmod 0600 "+puppetConf, "puppet-conf-unreadable"),
		edited(own, "a relative path", inMain("hostcert = certs/here.pem"), "puppet-conf-mistake"),
		edited(own, "a certname that is none", "sed -i 's/^certname.*/certname = not a name/' "+puppetConf,
			"puppet-conf-mistake"),
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
			undo: "mv /root/auth.conf " + authConf + startAgain +
				"; systemctl reload puppetserver; pmcheck wait --for ready",
			status:   "auth-denied",
			restarts: true,
		},
		suites("RSA key exchange alone, as the Foreman's module had it",
			"TLS_RSA_WITH_AES_256_CBC_SHA256, TLS_RSA_WITH_AES_256_CBC_SHA",
			// OpenJDK 21.0.13 has disabled it. Puppet Server starts without any suite, and serves no agent.
			`! grep -q '^[^#]*TLS_RSA_\*' /etc/java-*-openjdk/security/java.security`),
		suites("CBC with SHA-256 alone", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", ""),
		hungHolds(),
	}
}

// A failure is a master that does not serve agents.
type failure struct {
	name   string
	inject func(*pool, *lab.PuppetMaster)
	mend   func(*pool, *lab.PuppetMaster) // nil for one that lasts until the doubt ends

	// gradual is a failure before which the process may stall for a moment: 300 agents come for it.
	gradual bool
}

func failures() []failure {
	signal := func(name string) func(*pool, *lab.PuppetMaster) {
		return func(_ *pool, m *lab.PuppetMaster) { m.Host.MustRun("systemctl", "kill", "-s", name, m.Unit) }
	}
	return []failure{
		{
			name:   "CRL expired",
			inject: func(_ *pool, m *lab.PuppetMaster) { m.ExpireCRL() },
			mend:   func(_ *pool, m *lab.PuppetMaster) { m.RenewCRL() },
		},
		{name: "stopped", inject: signal("STOP"), mend: signal("CONT")},
		{name: "stuck", inject: (*pool).block, mend: (*pool).unblock, gradual: true},
		// With some of these doubts Puppet Server would not start again.
		{name: "killed", inject: signal("KILL")},
	}
}

// TestDoubtsTakeNoMasterOut brings each doubt to both masters of a pool under agents: no run fails, and balancers lose
// no server to it. While it lasts, a master that does not serve is out.
func TestDoubtsTakeNoMasterOut(t *testing.T) {
	lab.RealLong(t)
	lab.Need(t, "bindfs", "bindfs")
	agents := mix{quick: 4}
	p := startPool(t, alike(2), instances, agents)
	p.balance(quickStart(p.installPmcheck()))
	m := p.masters[0]
	m.Host.WriteFile("/etc/systemd/system/puppetserver.service.d/stay-killed.conf", "[Service]\nRestart=no\n", 0o644)
	m.Host.MustRun("systemctl", "daemon-reload")
	head, line := "| Kind | Doubt | Runs | Failed | Fewest UP |", "| --- | --- | ---: | ---: | ---: |"
	for _, f := range failures() {
		head += " " + f.name + " |"
		line += " ---: |"
	}
	table := head + "\n" + line + "\n"
	for _, d := range doubts() {
		t.Run(d.kind+": "+d.name, func(t *testing.T) {
			if _, none := m.Host.Run("sh", "-c", d.needs); none != nil {
				t.Skip("on these hosts it is no doubt")
			}
			table += p.with(t).doubts(d, agents)
		})
	}
	lab.Publish(t, "doubts", table)
	t.Logf("measured:\n%s", table)
}

// doubts returns the row of a doubt.
func (p *pool) doubts(d doubt, agents mix) string {
	began := time.Now()
	defer func() {
		lab.Must(p.t, p.each(d.undo))
		p.logDaemons(began)
	}()
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
	row := fmt.Sprintf("| %s | %s | %d | %d | %d |", d.kind, d.name, len(r.runs), len(r.failed()), r.fewest)
	for _, f := range failures() {
		row += " " + tenths(p.fail(f)) + " |"
	}
	return row + "\n"
}

// logDaemons logs what the daemons have told since a moment.
func (p *pool) logDaemons(since time.Time) {
	p.t.Helper()
	for _, m := range p.masters {
		p.t.Logf("pmcheck on %s:\n%s", m.Host.Name, m.Host.MustRun("journalctl", "--no-pager", "--output=short-precise",
			"--unit=pmcheck", fmt.Sprintf("--since=@%d", since.Unix())))
	}
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

// fail has the first master fail, and returns how long it was answered 200. From then on it is answered 503 until the
// failure is mended.
func (p *pool) fail(f failure) (noticed time.Duration) {
	p.t.Helper()
	m := p.masters[0]
	answers := lab.StartRecord(p.t, 50*time.Millisecond, func() string {
		out, _ := m.Host.Run("curl", "--silent", "--write-out", " %{http_code}", "localhost:9200/")
		return strings.ReplaceAll(out, "\n", "")
	})
	began := time.Now()
	f.inject(p, m)

	var out time.Time // since when it is answered 503, zero while it is not
	recovered := 0    // times
	lab.WaitFor(p.t, 2*time.Minute, 50*time.Millisecond, func() error {
		out, recovered = time.Time{}, 0
		for _, c := range answers.Changes() {
			refused := strings.HasSuffix(c.Answer, " 503")
			switch {
			case refused && out.IsZero():
				out = c.At
			case !refused && !out.IsZero():
				out = time.Time{}
				recovered++
			}
		}
		if out.IsZero() || time.Since(out) < 3*time.Second {
			return fmt.Errorf("%s: %s", f.name, answers)
		}
		return nil
	})
	if recovered > 0 && !f.gradual {
		p.t.Errorf("%s: %s", f.name, answers)
	}
	noticed = out.Sub(began)

	if f.mend != nil {
		f.mend(p, m)
		lab.WaitFor(p.t, 3*time.Minute, 50*time.Millisecond, func() error {
			if changes := answers.Changes(); !strings.HasSuffix(changes[len(changes)-1].Answer, " 200") {
				return fmt.Errorf("%s is mended: %s", f.name, answers)
			}
			return nil
		})
	}
	p.t.Logf("measured: %s: 503 after %s: %s", f.name, tenths(noticed), answers.Stop())
	return noticed
}

// While this file exists, compiles wait.
const compiling = "/var/lib/puppet/compiling"

// block leaves a master without an idle thread: its JRubies compile without an end, and more requests than it has
// threads wait behind them. stuck_after is short, since this would take two minutes for each doubt.
func (p *pool) block(m *lab.PuppetMaster) {
	p.t.Helper()
	m.Host.MustRun("sh", "-ec", "cp -a "+daemonConf+" /root/pmcheck.yaml; echo 'jruby: {stuck_after: "+stuckAfter.String()+
		"}' >"+daemonConf+"; systemctl reload pmcheck")
	const script = "/etc/puppet/code/wait.sh"
	m.Host.WriteFile(compiling, "", 0o644)
	m.Host.WriteFile(script, "echo >"+compiling+".$$; while [ -e "+compiling+" ]; do sleep 0.2; done\n", 0o644)
	m.SetSitePP("generate('/bin/sh', '" + script + "')\n")
	agent := p.standIns[quick][0].(standIn)
	master := endpoint{name: m.Host.Name, ip: m.Host.Address}
	blocked, end := context.WithCancel(p.t.Context())
	p.release = end
	ask := func(n int, method, path, kind, body string) {
		for range n {
			go func() {
				client := agent.client(master)
				defer client.CloseIdleConnections()
				for {
					// A herd on a slow machine cuts some of it off, and each thread must have a request.
					err := agent.request(client, method, path, kind, body)
					if err == nil || blocked.Err() != nil {
						return
					}
					time.Sleep(time.Second)
				}
			}()
		}
	}
	ask(instances, "POST", "catalog/"+agent.certname+"?environment=production", "application/x-www-form-urlencoded",
		agent.facts())
	lab.WaitFor(p.t, time.Minute, 100*time.Millisecond, func() error {
		out := m.Host.MustRun("sh", "-c", "ls "+compiling+".* 2>/dev/null | wc -l")
		if out != fmt.Sprint(instances) {
			return fmt.Errorf("%s JRubies are taken, want %d", out, instances)
		}
		return nil
	})
	ask(300, "GET", "environments", "", "")
}

// unblock lets all compiles end.
func (p *pool) unblock(m *lab.PuppetMaster) {
	p.t.Helper()
	p.release()
	m.SetSitePP(sitePP)
	m.Host.MustRun("sh", "-ec", "rm "+compiling+"*; mv /root/pmcheck.yaml "+daemonConf+"; systemctl reload pmcheck")
}
