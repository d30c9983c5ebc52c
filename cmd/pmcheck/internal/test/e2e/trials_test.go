package e2e_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const (
	// far and near are round trips of a health check.
	far, near = 50 * time.Millisecond, time.Millisecond
	// apart is how long after one pool the next is drained, so that holds come at different times of an interval.
	apart = 60 * time.Millisecond
	// inter is that of the pool's backend in README.md.
	inter = 2 * time.Second
	// checkTimeout is a default of puppetlabs/haproxy: a check may take longer than inter.
	checkTimeout = "    timeout check 10s\n"
)

// A trial drains all masters of a pool in the same moment, for several pools. Each pool has HAProxies of its own with
// the backends of README.md, which have just started: all their checks are in phase.
type trial struct {
	name      string
	drain     string // the code by which the backend of the pool learns of a drain, 404 or 503
	roundTrip time.Duration
	turns     bool   // with the backend 0-turn
	options   string // further lines of each backend
	balancers int    // of each pool
	pools     []*pool
}

// A pool is simulated masters with a real pmcheck, each at the end of a network of its own.
type pool struct {
	sites    []*lab.Site
	networks []*lab.Delay
}

// TestLeavingInTheSameMoment drains pairs and triples of masters in the same moment, behind a real HAProxy whose checks
// are in phase, at a round trip of 50 ms. With the configuration of README.md no pool is without a server, and none
// has more than one master out. Without its backend 0-turn checks can cross; such a moment lasts an interval.
//
// PMCHECK_LONG=1 does it with 24 pairs and 8 triples for each row of a table, behind three releases of HAProxy.
func TestLeavingInTheSameMoment(t *testing.T) {
	lab.Real(t)
	if !lab.Long() {
		here := func(config string) *lab.HAProxy { return lab.StartHAProxy(t, config) }
		list := []*trial{
			{name: "404", drain: "404", roundTrip: far, turns: true, balancers: 1, pools: startPools(t, 3, 1)},
			{name: "503", drain: "503", roundTrip: far, turns: true, balancers: 1, pools: startPools(t, 2, 1)},
			{name: "404, without 0-turn", drain: "404", roundTrip: far, balancers: 1, pools: startPools(t, 3, 0)},
		}
		try(t, here, list)
		return
	}

	pools, table := startPools(t, 24, 8), trialHead
	everywhere := []string{"bookworm", "trixie", "forky"}
	here := everywhere[:1]
	for _, kind := range []struct {
		trial
		suites []string
	}{
		{trial{name: "without 0-turn", roundTrip: far, balancers: 1}, here},
		{trial{name: "50 ms", roundTrip: far, turns: true, balancers: 1}, everywhere},
		{trial{name: "1 ms", roundTrip: near, turns: true, balancers: 1}, everywhere},
		{trial{name: "timeout check 10s", roundTrip: far, turns: true, balancers: 1, options: checkTimeout}, here},
		{trial{name: "two HAProxies", roundTrip: far, turns: true, balancers: 2}, here},
	} {
		for _, release := range lab.HAProxyReleases() {
			if !slices.Contains(kind.suites, release.Suite) {
				continue
			}
			for _, code := range []string{"404", "503"} {
				t.Run(fmt.Sprintf("%s, %s, %s", kind.name, release.Suite, code), func(t *testing.T) {
					root := release.StartChroot(t)
					k := kind.trial
					k.drain, k.pools = code, nil
					for i := 0; i < len(pools); i += k.balancers { // two cores have room for so many HAProxies
						k.pools = append(k.pools, pools[i])
					}
					k.name = fmt.Sprintf("%s, %s, %s", version(t, root), code, kind.name)
					table += try(t, root.StartHAProxy, []*trial{&k})
				})
			}
		}
	}
	lab.Publish(t, "turns", table)
}

// version returns the version of HAProxy in a release, such as 2.6.
func version(t *testing.T, root *lab.Chroot) string {
	t.Helper()
	return regexp.MustCompile(`\d+\.\d+`).FindString(lab.Output(t, root.Command("haproxy", "-v")))
}

func startPools(t *testing.T, pairs, triples int) (list []*pool) {
	t.Helper()
	for i := range pairs + triples {
		p := &pool{}
		masters := 2
		if i >= pairs {
			masters = 3
		}
		for range masters {
			// With this setting a daemon need not run for 15 s before its master may leave. It counts every client.
			s := lab.NewSite(t, lab.SiteOptions{YAML: "balancers: [127.0.0.1]\n"})
			s.Start()
			p.sites = append(p.sites, s)
			p.networks = append(p.networks, lab.StartDelay(t, s.Listen))
		}
		list = append(list, p)
	}
	return list
}

// A course is what came of draining one pool.
type course struct {
	masters  int
	empty    int           // how often a HAProxy had no server for agents
	longest  time.Duration // of these times
	out      int           // masters that were out at once
	crossed  int           // how often all were out of 0-turn
	starved  bool          // the machine was too busy: HAProxy gave up checks
	took     time.Duration
	haproxys []*lab.HAProxy
	records  []*lab.Record
}

const trialHead = "| HAProxy, a drain is answered | Pools | Without a server | longest | Most out | " +
	"Met in `0-turn` | A round took |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"

// try does all trials at once, and returns the rows of the table.
func try(t *testing.T, start func(config string) *lab.HAProxy, trials []*trial) (rows string) {
	t.Helper()
	courses := make([][]*course, len(trials))
	for i, k := range trials {
		for _, p := range k.pools {
			courses[i] = append(courses[i], k.balance(t, p, start))
		}
	}
	for i, k := range trials {
		for j, p := range k.pools {
			k.waitForViews(t, p)
			courses[i][j].record(t)
		}
	}

	var work sync.WaitGroup
	n := 0
	for i, k := range trials {
		for j, p := range k.pools {
			n++
			delay := time.Duration(n) * apart
			work.Go(func() {
				time.Sleep(delay)
				courses[i][j].took = p.drain(t)
			})
		}
	}
	work.Wait()

	for i, k := range trials {
		for _, c := range courses[i] {
			c.end()
		}
		rows += k.assess(t, courses[i])
	}
	t.Logf("measured:\n%s%s", trialHead, rows)
	return rows
}

var serverLines = regexp.MustCompile(`(?m)(^    server .*\n)+`)

// balance starts the HAProxies of a pool.
func (k *trial) balance(t *testing.T, p *pool, start func(config string) *lab.HAProxy) *course {
	t.Helper()
	servers := ""
	for i, network := range p.networks {
		network.Set(k.roundTrip)
		servers += fmt.Sprintf("    server m%d %s\n", i, network.Address)
	}
	_, readme, _ := strings.Cut(lab.ReadFile(t, "README.md"), "```haproxy\n")
	readme, _, _ = strings.Cut(readme, "\nfrontend ")
	turn, backend, found := strings.Cut(readme, "backend puppet\n")
	if !found || !strings.HasPrefix(turn, "backend 0-turn\n") {
		t.Fatalf("the backends of README.md are not as expected:\n%s", readme)
	}
	if k.drain == "503" {
		backend = strings.NewReplacer("/?drain=404", "/", "    http-check disable-on-404\n", "").Replace(backend)
	}
	if backend = "backend puppet\n" + k.options + backend; k.turns {
		backend = strings.Replace(turn, "0-turn\n", "0-turn\n"+k.options, 1) + backend
	}
	backend = strings.NewReplacer("slowstart 60s", "", "check port 9200", "check").Replace(backend)
	backend = serverLines.ReplaceAllLiteralString(backend, servers)

	c := &course{masters: len(p.sites)}
	for i := range k.balancers {
		// By default, HAProxy spreads the first checks of all servers over their interval.
		config := fmt.Sprintf("global\n    node lb%d\n    max-spread-checks 1\n%s\n", i, backend)
		c.haproxys = append(c.haproxys, start(config))
	}
	return c
}

// waitForViews waits until each balancer of the pool, and no other, shows each master and all others.
func (k *trial) waitForViews(t *testing.T, p *pool) {
	t.Helper()
	began := time.Now()
	backends := k.balancers
	if k.turns {
		backends *= 2
	}
	for _, s := range p.sites {
		s.With(t).WaitStatus(time.Minute, func(status lab.Status) error {
			settled := 0
			for _, b := range status.Balancers {
				v := b.View
				if v != nil && b.Seen.After(began) && v.State == "UP" && v.Steps == 0 && v.WeightTotal == 100*len(p.sites) {
					settled++
				}
			}
			if !status.Services[0].InService() || settled != backends || len(status.Balancers) != backends {
				return fmt.Errorf("it is %+v, by these balancers: %+v", status.Services[0].Answer, status.Balancers)
			}
			return nil
		})
	}
}

// drain drains every master of the pool, and makes each ready when it is out. It returns how long all of that took.
func (p *pool) drain(t *testing.T) time.Duration {
	began := time.Now()
	var work sync.WaitGroup
	for _, s := range p.sites {
		work.Go(func() {
			if out, status := s.With(t).Run("drain", "--timeout=5m"); status != 0 {
				t.Errorf("drain ends with %d:\n%s", status, out)
			}
			if out, status := s.With(t).Run("ready", "--wait", "--timeout=1m"); status != 0 {
				t.Errorf("ready ends with %d:\n%s", status, out)
			}
		})
	}
	work.Wait()
	return time.Since(began)
}

// record looks which servers each HAProxy of the pool uses for agents.
func (c *course) record(t *testing.T) {
	for _, h := range c.haproxys {
		c.records = append(c.records, lab.StartRecord(t, 100*time.Millisecond, func() string { return used(h) }))
	}
}

// used returns an x for each server that the HAProxy uses for agents.
func used(h *lab.HAProxy) (list string) {
	stats, err := h.Stats()
	if err != nil {
		return lab.NoAnswer
	}
	for _, s := range stats {
		if s.Backend == "puppet" && strings.HasPrefix(s.Status, "UP") {
			list += "x"
		}
	}
	return list
}

// end ends the HAProxies. How often one had no server is what it has counted itself.
func (c *course) end() {
	for i, h := range c.haproxys {
		c.empty += h.Outages("puppet")
		c.crossed += h.Outages("0-turn")
		c.starved = c.starved || strings.Contains(h.Log(), "timeout, check duration")
		changes := c.records[i].Stop().Changes()
		for j, change := range changes {
			if change.Answer == lab.NoAnswer {
				continue
			}
			c.out = max(c.out, c.masters-len(change.Answer))
			if change.Answer == "" && j+1 < len(changes) {
				c.longest = max(c.longest, changes[j+1].At.Sub(change.At))
			}
		}
		h.Stop()
	}
}

// kinds names the pools by their masters.
var kinds = map[int]string{2: "pairs", 3: "triples"}

// assess asserts what is promised, and returns the rows of the table, one for pairs and one for triples.
func (k *trial) assess(t *testing.T, courses []*course) (rows string) {
	t.Helper()
	for _, masters := range []int{2, 3} {
		pools, starved, empty, out, crossed := 0, 0, 0, 0, 0
		var longest time.Duration
		var took []time.Duration
		for _, c := range courses {
			if c.masters != masters {
				continue
			}
			if c.starved { // its servers were DOWN for another reason
				starved++
				continue
			}
			pools++
			if c.empty > 0 {
				empty++
			}
			if c.crossed > 0 {
				crossed++
			}
			longest, out = max(longest, c.longest), max(out, c.out)
			took = append(took, c.took)
		}
		if starved > 0 {
			t.Logf("%s: %d pools of %d do not count: the machine was too busy to answer checks", k.name, starved, masters)
		}
		if pools == 0 && starved > 0 {
			t.Errorf("%s: no pool of %d counts", k.name, masters)
		}
		if pools == 0 {
			continue
		}

		if k.turns && (empty > 0 || out > 1) {
			t.Errorf("%s: %d of %d pools of %d had no server, most had %d out", k.name, empty, pools, masters, out)
		}
		// Until a check, and as long as rise takes after 503, and one more on a busy machine.
		if longest > 4*inter {
			t.Errorf("%s: a pool of %d had no server for %v", k.name, masters, longest)
		}
		slices.Sort(took)
		met := "-"
		if k.turns {
			met = fmt.Sprint(crossed)
		}
		rows += fmt.Sprintf("| %s | %d %s | %d | %.1f s | %d | %s | %.0f s |\n", k.name, pools, kinds[masters], empty,
			longest.Seconds(), out, met, took[len(took)/2].Seconds())
	}
	return rows
}
