package pool_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestWithoutABalancer: agents that find their masters themselves go to the other one while one is drained behind its
// gate, and no run fails, neither then nor while the masters are restarted. All of it is done again without the gate.
func TestWithoutABalancer(t *testing.T) {
	lab.RealLong(t)
	p := startPool(t, shape{masters: []string{"", ""}, workshops: []string{"", "trixie", "forky"}}, 2, mix{})
	agents := p.finders()
	for _, m := range p.masters {
		m.SetSitePP("notify { \"applied by ${server_facts['servername']}\": }\n")
		m.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", fmt.Sprintf("fleet: [%s, %s]\n", p.masters[0].Host.Address,
			p.masters[1].Host.Address), 0o644)
	}
	p.installPmcheck()
	lab.Must(t, p.each("systemctl enable --now pmcheck-gate; pmcheck wait --for ready"))
	for _, a := range agents { // the first run is longer: it fetches plugins
		_, err := a.find()
		lab.Must(t, err)
	}
	failed, there, gated := p.direct(agents, "pmcheck drain --wait --timeout=10m")
	if failed > 0 || there > 0 {
		t.Errorf("with the gate: %s", gated)
	}
	lab.Must(t, p.each("systemctl disable --now pmcheck-gate"))
	_, _, ungated := p.direct(agents, "pmcheck drain") // not --wait, for agents keep coming
	text := fmt.Sprintf("With the gate %s;\nwithout it %s.\n", gated, ungated)
	lab.Publish(t, "direct", text)
	t.Logf("measured: %s", text)
}

// finders returns two agents for each way, spread over the workshops, which know both masters by the name of the pool.
func (p *pool) finders() (list []puppet) {
	p.t.Helper()
	known := ""
	for _, m := range p.masters {
		known += m.Host.Address + " " + service + "\n"
	}
	for _, h := range p.workshops {
		h.MustRun("sh", "-c", `printf %s "$1" >>/etc/hosts`, "sh", known)
		// Without this setting OpenVox 9.0.0-rc1 passes over each server of a server_list. The
		// name has no address, so an agent that used it would fail.
		h.WriteFile("/etc/puppet/puppet.conf", "[main]\nserver = nobody.lab.example\n", 0o644)
		p.t.Logf("the agents on %s are of version %s", h.Name, h.MustRun("puppet", "--version"))
	}
	for _, way := range []string{
		"--server_list=m1.lab.example:8140,m2.lab.example:8140",
		"--server_list=m2.lab.example:8140,m1.lab.example:8140",
		"--server=" + service,
	} {
		for range 2 {
			name, host := fmt.Sprintf("finder%d.lab.example", len(list)), p.workshops[len(list)%len(p.workshops)]
			p.masters[0].IssueCert(host, name, nil)
			a := newPuppet(name, host)
			a.options = append(a.options, way)
			list = append(list, a)
		}
	}
	return list
}

var appliedBy = regexp.MustCompile(`applied by (m[12])\.lab\.example`)

// find does one run, and returns the master that compiled its catalog.
func (a puppet) find() (master string, err error) {
	// As packaging/doc/leaving.md says: on a busy machine the facts alone take longer than the 4 s
	// after which an agent makes a new connection.
	out, err := a.once("--onetime", "--no-daemonize", "--verbose", "--http_keepalive_timeout=25s")
	if m := appliedBy.FindStringSubmatch(out); m != nil {
		master = m[1]
	}
	if err != nil || master == "" || strings.Contains(out, "Could not retrieve catalog") ||
		strings.Contains(out, "Could not send report") {
		return master, fmt.Errorf("%v: %s", err, out)
	}
	return master, nil
}

// direct drains and lifts one master after the other under load, and then restarts them. It returns how many runs
// failed, and how many a drained master got.
func (p *pool) direct(agents []puppet, drain string) (failed, there int, text string) {
	p.t.Helper()
	l := startLoad(p.t)
	for _, a := range agents {
		l.repeat(time.Second, func(r *run) { r.master, r.err = a.find() })
	}
	// after runs a command, waits for 15 runs that begin after it, and returns how many of them the master got.
	after := func(m *lab.PuppetMaster, line string) (got int) {
		if err := p.sh(m, line); err != nil {
			p.t.Error(err)
		}
		for _, r := range l.waitForRuns(p.t, 15, time.Now()) {
			if r.master == m.Host.Name {
				got++
			}
		}
		return got
	}
	for _, m := range p.masters {
		there += after(m, drain)
		if after(m, "pmcheck ready --wait --timeout=10m") == 0 {
			p.t.Errorf("%s got no agents after it was ready again", m.Host.Name)
		}
	}
	for _, m := range p.masters {
		after(m, "systemctl restart puppetserver; pmcheck wait --for ready")
	}
	l.end()
	row := row{runs: l.runs}
	row.report(p.t)
	failed = len(row.failed())
	return failed, there, fmt.Sprintf("%d of %d runs failed, and %d reached a master while it was drained",
		failed, len(row.runs), there)
}
