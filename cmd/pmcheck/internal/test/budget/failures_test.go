//go:build linux

package budget_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
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

// TestFailures goes through the table of failures in packaging/doc/leaving.md.
func TestFailures(t *testing.T) {
	p := startPool(t, 3)
	for _, f := range []struct {
		name string
		run  func(p *pool, one, two, three *master)
	}{
		{"life of a slot", (*pool).life},
		{"database unreachable", (*pool).unreachable},
		{"database frozen", (*pool).frozen},
		{"network cut", (*pool).cut},
		{"packets dropped", (*pool).dropped},
		{"master dead", (*pool).dead},
		{"command killed", (*pool).killed},
		{"reboot", (*pool).rebooted},
		{"database restored from a backup", (*pool).restored},
		{"max_out differs", (*pool).maxOut},
		{"two pools", (*pool).pools},
		{"host reinstalled", (*pool).reinstalled},
		{"agent claims a slot", (*pool).agent},
		{"master frees another's slot", (*pool).theft},
		{"clocks of masters", (*pool).clocks},
		{"clock of the database jumps", (*pool).jump},
		{"master unhealthy", (*pool).unhealthy},
	} {
		t.Run(f.name, func(t *testing.T) {
			sub := p.with(t)
			sub.calm()
			f.run(sub, sub.masters[0], sub.masters[1], sub.masters[2])
		})
	}
	t.Logf("\n%s", p.table)
	lab.Publish(t, "budget", p.table.String())
}

func held(b *lab.BudgetStatus) bool { return b.Held }

// life is what happens when nothing fails.
func (p *pool) life(one, two, three *master) {
	one.MustRun("drain", "--reason", "kernel")
	p.waitBudget(one, "held", held)
	two.assertRefused(one.name + " is out since ")
	two.assertRun(7, "kernel); 1 of 1", "maint", "--wait=3s")
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
	two.assertRun(0, "held: drain", "drain", "--wait=20s")
	p.row("no failure: a drain, another drain, ready",
		fmt.Sprintf("the second waits, or exit status 7, with who is out; the slot is free %.0f s "+
			"after `ready`", took.Seconds()))
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
	p.row("database unreachable, the guard stops Puppet Server",
		"waits for 30 s or `guard.turn`, then goes on by what balancers show, and the journal says so")
	p.db.Start()
	p.waitBudget(one, "held", held)
	p.row("database unreachable, an operator drains",
		"refused, exit status 7, hint `--force`; balancers are answered as before")
	p.row("the same with `--force`", "drained; recorded in the database once it answers again")
}

// guardStops runs a guard without a database: it waits for its turn, then goes on without one.
func (p *pool) guardStops(m *master) (took time.Duration) {
	settings := m.settings()
	settings.Guard.Turn, settings.Guard.Wait = 4*time.Second, time.Second
	out := &strings.Builder{}
	began := time.Now()
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	_, err := newGuard(settings, out).Out(ctx)
	took = time.Since(began)
	// A second turn, in which only another server matters, may follow the first.
	most := 2*settings.Guard.Turn + settings.Guard.Wait + 2*budget.Timeout
	if !strings.Contains(out.String(), "goes on without") || took < settings.Guard.Turn || took > most {
		p.t.Errorf("the guard returned after %v, %v, and said\n%s", took, err, out)
	}
	m.MustRun("ready", "--all")
	return took
}

func (p *pool) frozen(one, _, _ *master) {
	p.db.Freeze()
	defer p.db.Thaw()
	p.ask()
	answers := one.Record(20 * time.Millisecond)
	began := time.Now()
	one.assertRefused("no answer within 2s")
	took := time.Since(began)
	answers.Stop()
	for _, a := range answers.Changes() {
		if a.Answer != lab.ServingResponse {
			p.t.Errorf("balancers were told %q: %s", a.Answer, answers)
		}
	}
	p.row("database stopped with SIGSTOP",
		fmt.Sprintf("refused after %.1f s; every balancer is answered meanwhile", took.Seconds()))
}

// cut connects one master to the database through a proxy, and stops the proxy.
func (p *pool) cut(one, two, _ *master) {
	port := lab.Port(p.t, strings.TrimSuffix(strings.TrimPrefix(p.db.URL(), "postgresql://"), "/pmcheck"))
	listen := lab.Address(p.t, "127.0.0.1")
	door, err := net.Listen("tcp", listen)
	if err != nil {
		p.t.Fatal(err)
	}
	go forward(door, "127.0.0.1:"+port)
	one.Configure(p.yaml(strings.Replace(p.db.URL(), ":"+port, ":"+lab.Port(p.t, listen), 1), ""))
	p.ask()
	one.MustRun("drain", "--reason", "cable")
	p.waitBudget(one, "held", held)
	door.Close()
	one.MustRun("ready")
	two.assertRefused(one.name + " is out since ")
	one.assertRefused("connection refused")
	p.row("network cut from one master", "it is refused; its slot counts until `lapse`, or until it is back and settled")
}

func forward(door net.Listener, to string) {
	for {
		in, err := door.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			in.Close()
			continue
		}
		go func() { defer out.Close(); _, _ = io.Copy(out, in) }()
		go func() { defer in.Close(); _, _ = io.Copy(in, out) }()
	}
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
	p.row("a master dies with a slot",
		"it counts until `lapse` (30 min), then others may leave; if it comes back held, it is recorded")
}

// killed claims a slot with the certificate of a master, as a command does, and sets no
// hold.
func (p *pool) killed(one, two, _ *master) {
	if err := budget.New(one.settings()).Claim(p.t.Context(), budget.Claim{Serves: true, By: "alice"}); err != nil {
		p.t.Fatal(err)
	}
	two.assertRefused(one.name + " is out since ")
	began := time.Now()
	p.ask()
	p.waitFree(one)
	two.MustRun("drain")
	p.row("the command is killed between slot and hold",
		fmt.Sprintf("the daemon gives the slot back, within a minute and 30 s (here %.0f s)",
			time.Since(began).Seconds()))
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
	p.row("reboot with `--until-reboot`",
		"the slot counts during the reboot; the daemon returns it once the master serves and has settled")
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
	p.row("database restored from a backup",
		"within a minute masters that are out are recorded again, and masters that are back give old slots back")
}

func (p *pool) maxOut(one, two, three *master) {
	for _, m := range []*master{one, three} {
		m.Configure(p.yaml(p.db.URL(), "max_out: 2\n"))
	}
	p.ask()
	one.MustRun("drain")
	two.assertRefused("; 1 of 1")
	three.MustRun("drain")
	p.ask()
	two.WaitStatus(20*time.Second, func(s lab.Status) error {
		if w := strings.Join(s.Warnings, "\n"); !strings.Contains(w, "max_out is 2 on "+one.name+" and 1 here") {
			return fmt.Errorf("warnings: %s", w)
		}
		return nil
	})
	p.row("`max_out` differs between masters",
		"the stricter one binds itself alone; its status warns, and names the other")
}

func (p *pool) pools(one, two, three *master) {
	two.Configure(p.yaml(p.db.URL(), "  pool: test\n"))
	p.ask()
	one.MustRun("drain")
	two.MustRun("drain")
	three.assertRefused(one.name + " is out since ")
	p.row("two pools in one database", "they do not see each other")
}

func (p *pool) reinstalled(one, two, three *master) {
	three.MustRun("drain", "--reason", "new disk")
	three.Kill()
	fresh := p.start(three.name) // another certificate of the same name, and no hold
	two.assertRefused(three.name + " is out since ")
	p.waitFree(fresh)
	two.MustRun("drain")
	p.row("a host is reinstalled under the same name",
		"its slot is its own: its daemon returns it once it serves and has settled")
	fresh.Kill()
	three.Start()
}

func (p *pool) agent(_, _, _ *master) {
	p.db.Issue("agent1.example.test")
	err := client(p.db, "agent1.example.test").Claim(p.t.Context(), budget.Claim{})
	assertUnreachable(p.t, err, "certificate authentication failed")
	p.row("the certificate of an agent that is not a master", "PostgreSQL refuses it (pg_ident)")
}

func (p *pool) theft(one, two, _ *master) {
	one.MustRun("drain")
	c := budget.New(two.settings())
	if found, err := c.Free(p.t.Context(), one.name); err == nil {
		p.t.Errorf("%s has freed the slot of %s: %v", two.name, one.name, found)
	}
	if v, err := c.Return(p.t.Context()); err != nil || len(v.Slots) != 1 {
		p.t.Errorf("%+v, %v; want the slot of %s to stay", v, err, one.name)
	}
	administrator := client(p.db, admin)
	if found, err := administrator.Free(p.t.Context(), one.name); !found || err != nil {
		p.t.Errorf("the administrator frees: %v, %v", found, err)
	}
	p.row("a master tries to free another's slot",
		"it cannot: it has no rights on the table, and functions act on the name in its certificate")
}

// clocks asserts that no function that masters may call takes a time, so that the clocks of
// masters do not matter.
func (p *pool) clocks(_, _, _ *master) {
	takes := p.db.SQL("pmcheck", "select string_agg(p.oid::regprocedure::text, ' ') from pg_proc p "+
		"where pronamespace = 'pmcheck'::regnamespace and has_function_privilege('pmcheck', p.oid, 'execute')")
	if strings.Contains(takes, "time") || !strings.Contains(takes, "claim(") {
		p.t.Errorf("masters may call %s", takes)
	}
	p.row("clocks of masters an hour apart", "no matter: masters send no time, the database's clock decides")
}

// jump moves all times in the table into the past, which looks the same to the functions.
func (p *pool) jump(one, two, _ *master) {
	one.MustRun("drain", "--reason", "kernel")
	p.waitBudget(one, "held", held)
	startedLongAgo(p.db)
	backdate(p.db, "1 hour")
	two.assertRun(0, "lapsed", "budget")
	p.ask() // as each daemon does within a minute
	lab.WaitFor(p.t, 10*time.Second, 100*time.Millisecond, func() error {
		if said, _ := two.run("budget"); strings.Contains(said, "lapsed") {
			return errors.New(said)
		}
		return nil
	})
	two.assertRefused(one.name + " is out since ")
	p.row("the database's clock jumps ahead by more than `lapse`",
		"slots lapse until their masters renew them, within a minute")
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
	p.row("a master is unhealthy",
		fmt.Sprintf("it is recorded as out after a minute (here %.0f s) without any command, and can still be "+
			"drained", took.Seconds()))
}

// nft runs a command of nft in the network namespace of the test process.
func nft(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.Command(lab.Need(t, "nft", "nftables"), "--file", "-")
	cmd.Stdin = strings.NewReader(command + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("nft %s: %v\n%s", command, err, out)
	}
	return string(out)
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

// dropped makes the network drop all packets to the database. Nothing refuses them, so only
// a timeout ends a query.
func (p *pool) dropped(one, two, three *master) {
	one.MustRun("drain", "--reason", "before")
	p.waitBudget(one, "held", held)
	port := regexp.MustCompile(`:(\d+)/`).FindStringSubmatch(p.db.URL())[1]
	nft(p.t, "table inet lost { chain out { type filter hook output priority 0\n tcp dport "+port+" drop\n}; }")
	lost := true
	heal := func() {
		if lost {
			lost = false
			nft(p.t, "delete table inet lost")
		}
	}
	defer heal()
	p.ask()
	answers := three.Record(20 * time.Millisecond)
	began := time.Now()
	three.assertRefused("no answer within 2s")
	refused := lab.Since(began)
	if refused > 5*time.Second {
		p.t.Errorf("refused after %v", refused)
	}
	p.waitBudget(three, "unreachable", func(b *lab.BudgetStatus) bool { return !b.Reachable })
	took := p.guardStops(two)
	answers.Stop()
	for _, a := range answers.Changes() {
		if a.Answer != lab.ServingResponse {
			p.t.Errorf("balancers were told %q: %s", a.Answer, answers)
		}
	}
	one.MustRun("ready") // needs no database
	heal()
	p.ask()
	p.waitBudget(one, "reachable", func(b *lab.BudgetStatus) bool { return b.Reachable })
	p.row("the network drops packets to the database", fmt.Sprintf("refused after %.1f s; the guard continues after "+
		"%.0f s with a `guard.turn` of 4 s; every balancer is answered meanwhile; `ready` needs no database",
		refused.Seconds(), took.Seconds()))
}
