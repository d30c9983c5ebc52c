//go:build linux

package bench_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// How long a JVM runs before it is measured, and for how long it is then measured: a master
// that nothing happens to gets a handshake every 5 minutes.
const (
	lookingAge    = 5 * time.Minute
	lookingWindow = 5 * time.Minute
)

// mastersEach is how many masters are measured for each daemon: how much of its code a JVM has
// compiled makes a third of difference.
const mastersEach = 3

// A looked is a master with a daemon that has looked at it from its start, or with none.
type looked struct {
	master *lab.PuppetServer
	daemon int // process id; 0 if there is none
}

// BenchmarkLooking measures what looking at a master costs it and pmcheck, with the defaults
// and when nothing else asks it. Each daemon has a master of its own, whose code only that
// daemon's requests have warmed up, as in production. PMCHECK_LOOKING_AGES may name other ages of the
// masters: "5m 1h".
func BenchmarkLooking(b *testing.B) {
	names, daemons := []string{"nobody", "pmcheck"}, map[string]func(config string) (pid int, stop func()){
		"pmcheck": func(config string) (int, func()) { return startDaemon(b, nil, config) },
	}
	each := mastersEach
	if short() {
		each = 1
	}
	list := map[string][]*looked{}
	for range each {
		for _, name := range names {
			l := &looked{master: startCold(b)}
			if daemon := daemons[name]; daemon != nil {
				address := lab.Address(b, "127.0.0.1")
				l.daemon, _ = daemon(serveConfig(b, address, l.master.Address(), l.master.PuppetConf()))
				waitForAnswer(b, urlOf(address))
			}
			list[name] = append(list[name], l)
		}
	}
	began := time.Now()
	for age := range strings.FieldsSeq(cmp.Or(os.Getenv("PMCHECK_LOOKING_AGES"), lookingAge.String())) {
		d, err := time.ParseDuration(age)
		if err != nil {
			b.Fatal(err)
		}
		sleep(b, brief(time.Until(began.Add(d))))
		compareLooking(b, age, names, measureLooked(b, list))
	}
}

// compareLooking prints a table for the masters at one age, with the mean of each kind.
func compareLooking(b *testing.B, age string, names []string, used map[string][]cost) {
	t := &table{title: fmt.Sprintf("CPU time per second of looking at a Puppet Server, %s after its start", age)}
	t.row("", "Puppet Server", "pmcheck", "each Puppet Server")
	idle := mean(used["nobody"]).master
	t.row("nobody", milliseconds(idle), "", each(used["nobody"], 0))
	for _, name := range names[1:] {
		m := mean(used[name])
		t.row(name, milliseconds(m.master-idle)+" more", milliseconds(m.daemon), each(used[name], idle))
	}
	t.add(b)
}

// A cost is what one master and its daemon took, in CPU seconds per second.
type cost struct{ master, daemon float64 }

func mean(costs []cost) (m cost) {
	for _, c := range costs {
		m.master += c.master / float64(len(costs))
		m.daemon += c.daemon / float64(len(costs))
	}
	return m
}

// each lists what the masters took more than idle.
func each(costs []cost, idle float64) string {
	var list []string
	for _, c := range costs {
		list = append(list, milliseconds(c.master-idle))
	}
	return strings.Join(list, ", ")
}

// startCold starts a Puppet Server with a JVM as shipped.
func startCold(b *testing.B) *lab.PuppetServer {
	s := lab.StartPuppetServer(b, lab.PuppetServerOptions{JavaArgs: []string{}, MaxActiveInstances: 2, HeapMB: 1024})
	s.WaitReady(5 * time.Minute)
	return s
}

// measureLooked returns what each master and its daemon took in the same time.
func measureLooked(b *testing.B, list map[string][]*looked) map[string][]cost {
	sum := func() map[string][]cost {
		all := map[string][]cost{}
		for name, group := range list {
			for _, l := range group {
				c := cost{master: cpuTime(b, l.master.Pid()).Seconds()}
				if l.daemon != 0 {
					c.daemon = cpuTime(b, l.daemon).Seconds()
				}
				all[name] = append(all[name], c)
			}
		}
		return all
	}
	began, before := time.Now(), sum()
	sleep(b, brief(lookingWindow))
	used, took := sum(), time.Since(began).Seconds()
	for name, costs := range used {
		for i, c := range costs {
			costs[i] = cost{(c.master - before[name][i].master) / took, (c.daemon - before[name][i].daemon) / took}
		}
	}
	return used
}

// brief is a time that means nothing in the short form.
func brief(long time.Duration) time.Duration {
	if short() {
		return time.Second
	}
	return long
}
