package pool_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestSlowReboots reboots three hosts in the same second, as Automatic-Reboot-Time of unattended-upgrades does. Each
// takes about four minutes until Puppet Server is healthy again. leaving.md says which guard.shutdown keeps to max_out
// then: no run may fail, and two servers are always UP. A server counts as back as in README.md, after half of its
// slowstart.
func TestSlowReboots(t *testing.T) {
	lab.RealLong(t)
	agents := mix{quick: 4, slow: 1}
	p := startPool(t, alike(3), 3, agents)
	p.balance(p.installPmcheck())
	for _, m := range p.masters {
		m.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "guard: {shutdown: 22m}\n", 0o644)
		m.Host.WriteFile("/etc/systemd/system/puppetserver.service.d/slow.conf",
			"[Service]\nExecStartPre=/bin/sleep 190\n", 0o644)
		m.Host.MustRun("systemctl", "daemon-reload")
		m.Host.MustRun("systemctl", "reload", "pmcheck")
	}

	r := p.measure(scenario{
		name:    "reboot",
		mix:     agents,
		operate: func(p *pool) error { return exit{}.takeAll(p, 0) },
	}, form{runs: 40})
	t.Logf("measured: %d runs, %d failed, fewest UP %d, no server for %s, it took %.0f s",
		len(r.runs), len(r.failed()), r.fewest, tenths(r.empty), r.took.Seconds())
	if r.fewest < 2 {
		t.Errorf("only %d servers were UP, want 2", r.fewest)
	}
	for _, m := range p.masters {
		t.Logf("%s\n%s", m.Host.Name, m.Host.Journal("pmcheck-guard@puppetserver"))
	}
}
