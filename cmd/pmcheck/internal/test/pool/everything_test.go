package pool_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestEverythingAtOnce has everything that masters must survive happen to a pool under agents, as it is drawn from a
// seed: LAB_SEED or, in the long form, a new one. No agent fails but those of a Puppet Server that was killed, no
// balancer is ever without a server, and after each round every master serves, without a hold. The short form is one
// round of two masters; the long one takes an hour, or LAB_FOR.
func TestEverythingAtOnce(t *testing.T) {
	lab.Real(t)
	lab.Need(t, "bindfs", "bindfs")
	most, lasts, agents := 2, time.Duration(0), mix{quick: 4}
	seed := int64(41) // a drain and a restart at once, with a budget and a stranger
	if lab.Long() {
		most, lasts, agents = 3, time.Hour, mix{quick: 4, slow: 1}
		seed = time.Now().UnixNano() % 100_000
	}
	lasts = setting(t, "LAB_FOR", lasts, time.ParseDuration)
	seed = setting(t, "LAB_SEED", seed, func(text string) (int64, error) {
		return strconv.ParseInt(text, 10, 64)
	})
	drawn := draw(uint64(seed), most, actions())
	t.Logf("LAB_SEED=%d: %s", seed, drawn)

	p := startPool(t, alike(drawn.Masters), instances, agents)
	p.set(drawn)
	e := everything{pool: p, plan: drawn, load: p.start(agents)}
	for _, b := range p.balancers {
		e.used = append(e.used, lab.StartRecord(t, 20*time.Millisecond, b.used))
	}
	began := time.Now()
	defer func() {
		if t.Failed() {
			p.logDaemons(began)
		}
	}()
	e.load.waitForRuns(t, 3, time.Time{})
	for i, round := range drawn.Rounds {
		if i > 0 && time.Since(began) > lasts || t.Failed() {
			break
		}
		t.Logf("round %d: %+v", i+1, round)
		e.play(round)
		e.assertServed()
	}
	e.load.end()
	cut := e.assertServed()
	for _, u := range e.used {
		p.assertAlwaysUsed(u)
	}
	t.Logf("measured: seed %d, %s: %d actions, %d runs, %d cut off by a Puppet Server that was killed, it took %s",
		seed, drawn, e.done, len(e.load.runs), cut, time.Since(began).Round(time.Second))
}

// setting returns what a variable of the environment says, if it is set.
func setting[T any](t *testing.T, name string, otherwise T, parse func(string) (T, error)) T {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := parse(text)
	lab.Must(t, err)
	return value
}

func clock(at time.Time) string { return at.Format("15:04:05.000") }

// set installs pmcheck and starts what a plan has beside the masters.
func (p *pool) set(drawn plan) {
	p.t.Helper()
	const blind, stranger = "198.18.1.4", "198.18.1.5"
	p.addAddress(blind)
	p.addAddress(stranger)
	yaml := "guard: {shutdown: 25m}\n" // three Puppet Servers on one machine start slowly
	if drawn.Listed {
		yaml += fmt.Sprintf("balancers: [%s, %s", endpoints()[0].ip, endpoints()[1].ip)
		if drawn.Blind {
			yaml += ", " + blind
		}
		yaml += "]\n"
	}
	var db *lab.Postgres
	if drawn.Budget {
		db = p.startDatabase()
		yaml += fmt.Sprintf("budget: {database: %q}\n", db.URL())
	}
	for _, m := range p.masters {
		m.Host.WriteFile(daemonConf, yaml, 0o644)
	}
	backends := p.installPmcheck()
	if !lab.Long() {
		backends = quickStart(backends)
	}
	p.balance(backends)
	if drawn.Budget {
		p.useBudget(db)
	}
	if drawn.Blind {
		p.startBalancer(endpoint{"blind", blind}, strings.ReplaceAll(backends, "    http-check send-state\n", ""))
	}
	for _, m := range p.masters {
		if drawn.Claim != "" {
			p.claim(stranger, m, strings.ReplaceAll(drawn.Claim, "MASTER", m.Host.Name))
		}
		lab.NewSite(p.t, lab.SiteOptions{Puppet: m}).WaitKnown(time.Minute)
	}
}

// claim has a stranger ask a master every second.
func (p *pool) claim(address string, m *lab.PuppetMaster, view string) {
	dialer := net.Dialer{Timeout: 2 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	client := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			return p.net.Dial(ctx, dialer, network, to)
		},
	}}
	request, err := http.NewRequest("GET", "http://"+m.Host.Address+":9200/?drain=404", nil)
	lab.Must(p.t, err)
	request.Header.Set("X-Haproxy-Server-State", view)
	lab.StartRecord(p.t, time.Second, func() string {
		resp, err := client.Do(request)
		if err != nil {
			return lab.NoAnswer
		}
		resp.Body.Close()
		return resp.Status
	})
}

// everything is what happens to a pool by a plan.
type everything struct {
	*pool
	plan plan
	load *load
	used []*lab.Record // the servers that each balancer uses
	done int           // actions

	mu   sync.Mutex
	cuts []span // in which a Puppet Server was killed
}

type span struct{ from, to time.Time }

// play does the steps of a round, and returns when every master serves again, without a hold or a slot.
func (e *everything) play(round []step) {
	e.t.Helper()
	var all errgroup.Group
	for _, s := range round {
		all.Go(func() error {
			time.Sleep(s.After)
			return e.do(s)
		})
	}
	if err := all.Wait(); err != nil {
		e.t.Error(err)
	}
	e.done += len(round)
	e.waitForUp()
	for _, m := range e.masters {
		site := lab.NewSite(e.t, lab.SiteOptions{Puppet: m})
		site.WaitServing(time.Minute)
		site.WaitStatus(2*time.Minute, func(s lab.Status) error {
			if len(s.Holds) > 0 {
				return fmt.Errorf("%s is held: %+v", m.Host.Name, s.Holds)
			}
			if s.Budget != nil && s.Budget.HasSlot {
				return fmt.Errorf("%s has a slot: %+v", m.Host.Name, s.Budget)
			}
			return nil
		})
	}
}

// do does one step.
func (e *everything) do(s step) error {
	all := actions()
	a := all[slices.IndexFunc(all, func(a action) bool { return a.name == s.Action })]
	m := e.masters[s.Master]
	began := time.Now()
	defer func() {
		e.t.Logf("%s %s: %s (%s)", clock(began), m.Host.Name, a.name, tenths(time.Since(began)))
		if a.cuts > 0 {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.cuts = append(e.cuts, span{from: began, to: began.Add(a.cuts)})
		}
	}()
	if a.line == "" {
		m.Host.Reboot()
		return nil
	}
	refused := "no"
	if !e.plan.Listed && e.plan.Claim != "" {
		refused = "yes"
	}
	return e.sh(m, strings.NewReplacer("MOMENT", fmt.Sprint(s.Moment.Seconds()), "REFUSED", refused).Replace(a.line))
}

// assertServed asserts that each balancer always had a server, and that no run failed but for those that a Puppet
// Server may have cut off that was killed. It returns how many of these there were.
func (e *everything) assertServed() (cut int) {
	e.t.Helper()
	for _, u := range e.used {
		if u.Count("") > 0 {
			e.t.Error("a balancer had no server")
		}
	}
	e.load.mu.Lock()
	defer e.load.mu.Unlock()
	for _, r := range e.load.runs {
		wasCut := func(s span) bool { return r.ended.After(s.from) && r.began.Before(s.to) }
		switch {
		case r.err == nil:
		case slices.ContainsFunc(e.cuts, wasCut):
			cut++
		default:
			e.t.Errorf("the run from %s to %s failed: %v", clock(r.began), clock(r.ended), r.err)
		}
	}
	return cut
}
