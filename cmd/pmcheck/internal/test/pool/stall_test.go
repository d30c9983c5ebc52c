package pool_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// paces are how often a backend may ask, and how many answers it waits for; the first is that of the README.
var paces = []string{
	"inter 2s fall 3 rise 2",
	"inter 1s fall 3 rise 2",
	"inter 1s fastinter 250ms fall 3 rise 2",
	"inter 500ms fall 6 rise 4",
	"inter 400ms fall 7 rise 5",
}

// TestStallsInAHerd has 600 agents come at once, stops the JVM of one master for 1 to 4 s again and again meanwhile,
// and restarts its daemon afterwards. An HAProxy without agents has a backend for each pace, and so counts for which of
// them the master is DOWN. It never is for that of the README.
func TestStallsInAHerd(t *testing.T) {
	lab.RealLong(t)
	p := startPool(t, shape{masters: []string{"", ""}, workshops: []string{""}}, 3, mix{quick: 20})
	p.balance(p.installPmcheck())
	config := ""
	for i, pace := range paces {
		config += fmt.Sprintf("backend pace%d\n option httpchk GET /?drain=404\n http-check disable-on-404\n"+
			" default-server check port 9200 %s\n%s", i, pace, p.servers())
	}
	w := watcher{HAProxy: p.net.StartHAProxy(t, config), t: t}
	w.WaitEach(time.Minute, lab.ServerStat.Healthy)

	m := p.masters[0]
	jvm := func(signal string) { m.Host.MustRun("systemctl", "kill", "--signal="+signal, m.Unit) }
	h := herd{agents: 600, catalog: 1, mayFail: true}
	ended := make(chan struct{})
	go func() { defer close(ended); h.come(p) }()
	lab.Pause(t, 15*time.Second) // until the masters are saturated
	for round, busy := 0, true; busy; round++ {
		d := time.Duration(round%4+1) * time.Second
		w.count(fmt.Sprintf("a stall of %v", d), func() {
			jvm("STOP")
			time.Sleep(d)
			jvm("CONT")
			time.Sleep(6 * time.Second)
		})
		select {
		case <-ended:
			busy = false
		default:
		}
	}
	w.WaitEach(time.Minute, lab.ServerStat.Healthy)
	for range 5 {
		w.count("the daemon restarts", func() {
			m.Host.MustRun("systemctl", "restart", "pmcheck")
			time.Sleep(5 * time.Second)
		})
	}
	t.Logf("measured: %s\n%s", h, w.table())
	for _, e := range w.events {
		if e.downs[0] > 0 {
			t.Errorf("%s takes the master DOWN with the backend of the README", e.name)
		}
	}
}

// A watcher counts what takes the first master DOWN, for each pace.
type watcher struct {
	*lab.HAProxy
	t      *testing.T
	events []*event
}

// An event is something that is done to the master again and again.
type event struct {
	name          string
	times         int
	downs, failed [5]int // for each pace: how often DOWN, and how many health checks failed at most
}

// count does something to the master.
func (w *watcher) count(name string, do func()) {
	w.t.Helper()
	var e *event
	for _, known := range w.events {
		if known.name == name {
			e = known
		}
	}
	if e == nil {
		e = &event{name: name}
		w.events = append(w.events, e)
	}
	var was, is [5]lab.ServerStat
	for i := range paces {
		was[i] = w.Stat(fmt.Sprintf("pace%d", i), "m1")
	}
	do()
	e.times++
	for i := range paces {
		is[i] = w.Stat(fmt.Sprintf("pace%d", i), "m1")
		e.downs[i] += is[i].Downs - was[i].Downs
		e.failed[i] = max(e.failed[i], is[i].Failures-was[i].Failures)
	}
	w.t.Logf("%s: DOWN so far %v, failed at most %v", name, e.downs, e.failed)
}

func (w *watcher) table() string {
	text := "| Health checks | " + strings.Join(paces, " | ") + " |\n"
	for _, e := range w.events {
		text += fmt.Sprintf("| %s, %d times: DOWN (failed at most) |", e.name, e.times)
		for i := range paces {
			text += fmt.Sprintf(" %d (%d) |", e.downs[i], e.failed[i])
		}
		text += "\n"
	}
	return text
}
