package pool_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// An action is something that happens to a master of a pool in service, and that is over when the action returns.
type action struct {
	name   string
	weight int
	alone  bool // every other master must be in service
	// cuts is for how long after it the master may cut off agents, which pmcheck cannot prevent. Zero is not at all.
	cuts time.Duration
	// line is what a shell does on the master. MOMENT stands for some seconds. The host of one without a line reboots.
	line string
}

// actions returns everything that may happen. A drain that a stranger may refuse is followed by ready all the same.
func actions() []action {
	const (
		drain   = "pmcheck drain --wait --timeout 15m"
		ready   = "; pmcheck ready --wait --timeout 15m"
		restart = "systemctl restart puppetserver"
	)
	list := []action{
		{name: "restart", weight: 8, line: restart},
		{name: "reload", weight: 6, line: "systemctl reload puppetserver"},
		{name: "drain", weight: 8, line: drain + " || [ $? = 7 -a REFUSED = yes ]" + ready},
		{name: "reboot", weight: 4},
		{name: "kill -9 of the command", weight: 4, line: drain + " & sleep MOMENT; kill -9 $! || :" + ready},
		{name: "kill -9 of the daemon", weight: 4, line: "systemctl kill -s KILL pmcheck; pmcheck wait --for ready"},
		{
			name:   "kill -9 of the guard",
			weight: 2,
			alone:  true,
			cuts:   90 * time.Second, // Puppet Server stops without a drain
			line: restart + ` & restarts=$!
				for i in $(seq 100)
				do [ "$(systemctl is-active pmcheck-guard@puppetserver)" != deactivating ] || break; sleep 0.1; done
				systemctl kill -s KILL pmcheck-guard@puppetserver
				wait $restarts`,
		},
		{
			name:   "kill -9 of Puppet Server",
			weight: 2,
			alone:  true,
			cuts:   10 * time.Second,
			line: "systemctl kill -s KILL puppetserver; pmcheck wait --for out" +
				"; pmcheck wait --for ready --timeout 10m",
		},
	}
	for _, d := range doubts() {
		needs := cmp.Or(d.needs, ":")
		list = append(list, action{
			name:   d.name,
			weight: 1,
			line:   fmt.Sprintf("%s || exit 0; %s\nsleep MOMENT; %s\n", needs, d.apply, d.undo),
		})
	}
	return list
}

// claims are what a stranger says of a master, from an address of its own; the first is that there is no stranger.
func claims() []string {
	const alone, another = "weight=100/100; scur=0/0; qcur=0", "weight=100/200; scur=0/0; qcur=0"
	return []string{
		"",
		"UP; name=puppet/MASTER; node=lb1; " + alone,          // as the first balancer, which has it alone
		"NOLB; name=puppet/MASTER; node=stranger; " + another, // it has let go of the master, and never sends again
		"UP; name=puppet/MASTER; node=stranger; " + another,   // it never lets go
	}
}

// A plan is what is drawn from a seed.
type plan struct {
	Masters int
	Listed  bool   // all balancers, and not the stranger
	Budget  bool   // in a PostgreSQL
	Blind   bool   // there is a balancer without a view
	Claim   string // of the stranger
	Rounds  [][]step
}

func (p plan) String() string {
	return fmt.Sprintf("%d masters, balancers listed: %t, a budget: %t, a balancer without a view: %t, a stranger: %q",
		p.Masters, p.Listed, p.Budget, p.Blind, p.Claim)
}

// A step is an action on a master, some moments after its round began.
type step struct {
	Action        string
	Master        int
	After, Moment time.Duration
}

// draw returns a plan with as many masters as most, or one less. The same arguments give the same plan.
func draw(seed uint64, most int, actions []action) plan {
	dice := rand.New(rand.NewPCG(seed, ^seed))
	p := plan{
		Masters: max(2, most-dice.IntN(2)),
		Listed:  dice.IntN(2) == 0,
		Budget:  dice.IntN(3) == 0,
		Blind:   dice.IntN(3) == 0,
	}
	claims := claims()
	if !p.Listed {
		claims = claims[:2] // a drain or ready would wait for the others for as long as they ask
	}
	p.Claim = claims[dice.IntN(len(claims))]

	var lots []action
	for _, a := range actions {
		lots = append(lots, slices.Repeat([]action{a}, a.weight)...)
	}
	for range 400 { // more than an hour has room for
		var round []step
		for _, master := range dice.Perm(p.Masters)[:1+dice.IntN(p.Masters)] {
			a := lots[dice.IntN(len(lots))]
			if a.alone && len(round) > 0 {
				break
			}
			round = append(round, step{
				Action: a.name,
				Master: master,
				After:  time.Duration(dice.IntN(2)*dice.IntN(8000)) * time.Millisecond,
				Moment: time.Duration(dice.IntN(10000)) * time.Millisecond,
			})
			if a.alone {
				break
			}
		}
		p.Rounds = append(p.Rounds, round)
	}
	return p
}

// TestDraw: a seed has one plan, which keeps to what actions need and leaves none of them out.
func TestDraw(t *testing.T) {
	alone, drawn := map[string]bool{}, map[string]int{}
	for _, a := range actions() {
		alone[a.name] = a.alone
	}
	plans := map[string]bool{}
	for seed := range uint64(100) {
		p := draw(seed, 3, actions())
		if !reflect.DeepEqual(p, draw(seed, 3, actions())) {
			t.Fatalf("seed %d has two plans", seed)
		}
		if !p.Listed && slices.Contains(claims()[2:], p.Claim) {
			t.Errorf("seed %d: commands wait for the stranger without an end", seed)
		}
		for _, round := range p.Rounds {
			masters := map[int]bool{}
			for _, s := range round {
				drawn[s.Action]++
				masters[s.Master] = true
				if alone[s.Action] && len(round) > 1 || s.Master >= p.Masters {
					t.Errorf("seed %d: %+v", seed, round)
				}
			}
			if len(masters) != len(round) || len(round) == 0 {
				t.Errorf("seed %d: %+v", seed, round)
			}
		}
		plans[p.String()] = true
	}
	for name := range alone {
		if drawn[name] == 0 {
			t.Errorf("%s is never drawn", name)
		}
	}
	if len(plans) < 20 {
		t.Errorf("a hundred seeds have %d kinds of pools", len(plans))
	}
}
