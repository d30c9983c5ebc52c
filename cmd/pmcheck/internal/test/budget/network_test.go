//go:build linux

package budget_test

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

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

// watched has two sets, one for TCP and one for UDP, of the addresses and ports to which a
// process in the namespace has sent packets.
const watched = `
table inet watched {
	set seen { type ipv4_addr . inet_service; flags dynamic; size 1000; }
	set seen6 { type ipv6_addr . inet_service; flags dynamic; size 1000; }
	chain out {
		type filter hook output priority 0
		tcp flags & (syn|ack) == syn add @seen { ip daddr . tcp dport }
		tcp flags & (syn|ack) == syn add @seen6 { ip6 daddr . tcp dport }
		udp dport 0-65535 add @seen { ip daddr . udp dport }
		udp dport 0-65535 add @seen6 { ip6 daddr . udp dport }
	}
}`

// targets returns the elements of the sets, as host:port.
func targets(t *testing.T) (list []string) {
	t.Helper()
	elements := regexp.MustCompile(`([0-9a-f.:]+) \. (\d+)`)
	for _, m := range elements.FindAllStringSubmatch(nft(t, "list table inet watched"), -1) {
		list = append(list, net.JoinHostPort(m[1], m[2]))
	}
	return list
}

// TestWithoutDatabaseNothingIsSentToOne makes the kernel note every address to which the
// daemon, the commands and the guard send. The last case has a database, and shows that the
// kernel would note one.
func TestWithoutDatabaseNothingIsSentToOne(t *testing.T) {
	db := startDatabase(t, 1)
	address := "127.0.0.1:" + regexp.MustCompile(`:(\d+)/`).FindStringSubmatch(db.URL())[1]
	for _, test := range []struct {
		name, budget string
		asks         bool
	}{
		{"no section", "", false},
		{"an empty database", "max_out: 2\nbudget: {database: '', pool: other}\n", false},
		{"a database", "budget: {database: '" + db.URL() + "'}\n", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &master{lab.NewSite(t, lab.SiteOptions{Name: name(1), YAML: test.budget}), name(1)}
			db.Trust(m.Master.Files())
			nft(t, watched)
			defer nft(t, "delete table inet watched")
			m.Start()
			m.WaitServing(30 * time.Second)
			m.MustRun("drain", "--reason", "kernel", "--wait=20s")
			m.MustRun("ready")
			m.MustRun("maint")
			m.MustRun("ready")
			m.Signal(syscall.SIGHUP)
			m.guard(t)
			m.MustRun("drain", "--wait=20s")
			m.MustRun("ready", "--wait=2m")
			m.Stop(syscall.SIGTERM)
			asked := false
			for _, to := range targets(t) {
				switch to {
				case address:
					asked = true
				case m.Listen, m.MasterAddress():
				default:
					t.Errorf("something was sent to %s", to)
				}
			}
			if asked != test.asks {
				t.Errorf("the database was asked: %v, want %v", asked, test.asks)
			}
			t.Logf("packets went to %v; the database has %s", targets(t), address)
		})
	}
}

// guard stops and starts the service, as the guard's unit does.
func (m *master) guard(t *testing.T) {
	t.Helper()
	out := &strings.Builder{}
	settings := m.settings()
	settings.Guard.Turn, settings.Guard.Wait = 10*time.Second, 10*time.Second
	g := newGuard(settings, out)
	if _, err := g.Out(t.Context()); err != nil {
		t.Errorf("the guard: %v\n%s", err, out)
	}
	if _, err := g.Back(t.Context()); err != nil {
		t.Errorf("the guard: %v\n%s", err, out)
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
