//go:build linux

package budget_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// TestFailures: what becomes of slots when a database, a daemon or a command fails.
func TestFailures(t *testing.T) {
	p := startPool(t, 3)
	for _, f := range []struct {
		name string
		run  func(p *pool, one, two, three *master)
	}{
		{"life of a slot", (*pool).life},
		{"database unreachable", (*pool).unreachable},
		{"master dead", (*pool).dead},
		{"command killed", (*pool).killed},
		{"reboot", (*pool).rebooted},
		{"database restored from a backup", (*pool).restored},
		{"max_out differs", (*pool).maxOut},
		{"two pools", (*pool).pools},
		{"host reinstalled", (*pool).reinstalled},
		{"master unhealthy", (*pool).unhealthy},
	} {
		t.Run(f.name, func(t *testing.T) {
			sub := p.with(t)
			sub.calm()
			f.run(sub, sub.masters[0], sub.masters[1], sub.masters[2])
		})
	}
}

func held(b *lab.BudgetStatus) bool { return b.Held }

// life is what happens when nothing fails.
func (p *pool) life(one, two, three *master) {
	one.MustRun("drain", "--reason", "kernel")
	p.waitBudget(one, "held", held)
	two.assertRefused(one.name + " is out since ")
	two.assertRun(7, "kernel); 1 of 1", "maint", "--timeout=3s")
	two.MustRun("drain", "--service", "ca", "--force") // needs no slot
	two.assertRun(0, one.name, "budget")
	three.MustRun("drain", "--force", "--reason", "fire")
	three.assertRun(0, "forced", "budget")
	three.MustRun("ready")
	one.MustRun("drain", "--reason", "kernel 2") // keeps its slot
	began := time.Now()
	one.MustRun("ready")
	p.waitFree(one)
	p.waitFree(three)
	took := time.Since(began)
	if took < budget.Settle {
		p.t.Errorf("free %v after ready, before it has settled", took)
	}
	two.assertRun(0, "held: drain", "drain", "--wait", "--timeout=20s")
}

func (p *pool) unreachable(one, two, _ *master) {
	p.db.Stop()
	p.ask()
	one.assertRefused("insist with --force")
	p.waitBudget(one, "unreachable", func(b *lab.BudgetStatus) bool { return !b.Reachable })
	if code, body, err := one.Ask("/"); code != http.StatusOK {
		p.t.Errorf("balancers are told %d %s, %v", code, body, err)
	}
	one.assertRun(0, "goes on without the budget", "drain", "--force")
	p.guardStops(two)
	p.db.Start()
	p.waitBudget(one, "held", held)
}

// guardStops runs a guard without a database: it waits for its turn, then goes on without one.
func (p *pool) guardStops(m *master) {
	settings := m.settings()
	settings.Guard.Turn, settings.Guard.Wait = 4*time.Second, time.Second
	out := &strings.Builder{}
	began := time.Now()
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	err := newGuard(settings, out).Out(ctx)
	took := time.Since(began)
	// A second turn, in which only another server matters, may follow the first.
	most := 2*settings.Guard.Turn + settings.Guard.Wait + 2*budget.Timeout
	if !strings.Contains(out.String(), "goes on without") || took < settings.Guard.Turn || took > most {
		p.t.Errorf("the guard returned after %v, %v, and said\n%s", took, err, out)
	}
	m.MustRun("ready", "--all")
}

func (p *pool) dead(one, two, _ *master) {
	one.MustRun("drain", "--reason", "disk")
	p.waitBudget(one, "held", held)
	one.Kill()
	startedLongAgo(p.db)
	backdate(p.db, "29 minutes")
	two.assertRefused(one.name + " is out since ")
	backdate(p.db, "2 minutes")
	two.assertRun(0, "lapsed", "budget")
	two.assertRun(0, "held: drain", "drain")
	one.Start()
	p.waitBudget(one, "held", held) // it is out, whatever the budget says
}

// killed claims a slot with the certificate of a master, as a command does, and sets no
// hold.
func (p *pool) killed(one, two, _ *master) {
	if err := budget.New(one.settings()).Claim(p.t.Context(), budget.Claim{Serves: true, By: "alice"}); err != nil {
		p.t.Fatal(err)
	}
	two.assertRefused(one.name + " is out since ")
	p.ask()
	p.waitFree(one)
	two.MustRun("drain")
}

func (p *pool) rebooted(one, two, _ *master) {
	one.MustRun("drain", "--until-reboot", "--reason", "kernel")
	one.reboot()
	two.assertRefused(one.name + " is out since ")
	one.Start()
	one.WaitServing(30 * time.Second)
	two.assertRefused(one.name + " is out since ")
	p.waitFree(one)
	two.MustRun("drain")
}

func (p *pool) restored(one, two, three *master) {
	one.MustRun("drain", "--reason", "before")
	dump := p.db.Dump()
	one.MustRun("ready")
	two.MustRun("drain", "--force", "--reason", "after")
	p.db.Restore(dump)
	three.assertRefused(one.name + " is out since ")
	p.ask()
	p.waitBudget(two, "recorded", func(b *lab.BudgetStatus) bool { return b.Held })
	p.waitFree(one)
	three.assertRefused(two.name + " is out since ")
}

func (p *pool) maxOut(one, two, three *master) {
	for _, m := range []*master{one, three} {
		m.Configure(p.yaml(p.db.URL(), "max_out: 2\n"))
	}
	p.ask()
	one.MustRun("drain")
	two.assertRefused("; 1 of 1")
	three.MustRun("drain")
}

func (p *pool) pools(one, two, three *master) {
	two.Configure(p.yaml(p.db.URL(), "  pool: test\n"))
	p.ask()
	one.MustRun("drain")
	two.MustRun("drain")
	three.assertRefused(one.name + " is out since ")
}

func (p *pool) reinstalled(one, two, three *master) {
	three.MustRun("drain", "--reason", "new disk")
	three.Kill()
	fresh := p.start(three.name) // another certificate of the same name, and no hold
	two.assertRefused(three.name + " is out since ")
	p.waitFree(fresh)
	two.MustRun("drain")
	fresh.Kill()
	three.Start()
}

func (p *pool) unhealthy(one, two, _ *master) {
	if err := one.Master.Set(checktest.Stopped); err != nil {
		p.t.Fatal(err)
	}
	began := time.Now()
	one.WaitStatus(90*time.Second, func(s lab.Status) error {
		if s.Budget == nil || !s.Budget.Held {
			return fmt.Errorf("not recorded")
		}
		return nil
	})
	took := time.Since(began)
	two.assertRefused(one.name + " is out since ")
	one.assertRun(0, "held: drain", "drain", "--reason", "sick")
	if err := one.Master.Set(checktest.Running); err != nil {
		p.t.Fatal(err)
	}
	if took < 55*time.Second {
		p.t.Errorf("recorded after %v", took)
	}
}

// newGuard returns the guard of a host with these settings. What it waits for goes to out.
func newGuard(settings config.Config, out io.Writer) *leave.Guard {
	g := &leave.Guard{
		World:     leave.NewWorld(settings),
		Unit:      "puppetserver",
		Holder:    drain.Guard,
		Limits:    settings.Guard,
		Ask:       systemd.AskService,
		HostStops: systemd.HostStops,
	}
	g.World.Say = func(line string) { fmt.Fprintln(out, line) }
	g.World.Note = g.World.Say
	return g
}
