//go:build linux

package bench_test

import (
	"cmp"
	"fmt"
	"os"
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

// A looked is a master with a daemon that has looked at it from its start, or with none.
type looked struct {
	name   string
	master *lab.PuppetServer
	daemon int // process id; 0 if there is none
}

// BenchmarkLooking measures what looking at a master costs it and pmcheck, with the defaults
// and when nothing else asks it. Each daemon has a master of its own, whose code only that
// daemon's requests have warmed up, as in production. PMCHECK_OLD may name another pmcheck, to
// be compared in the same run; PMCHECK_LOOKING_AGE another age of the masters.
func BenchmarkLooking(b *testing.B) {
	age, err := time.ParseDuration(cmp.Or(os.Getenv("PMCHECK_LOOKING_AGE"), lookingAge.String()))
	if err != nil {
		b.Fatal(err)
	}
	programs := map[string]string{"pmcheck": lab.Build(b)}
	names := []string{"nobody", "pmcheck"}
	if old := os.Getenv("PMCHECK_OLD"); old != "" {
		programs["the pmcheck of PMCHECK_OLD"] = old
		names = append(names, "the pmcheck of PMCHECK_OLD")
	}
	var list []*looked
	for _, name := range names {
		l := &looked{name: name, master: startCold(b)}
		if program := programs[name]; program != "" {
			address := lab.Address(b, "127.0.0.1")
			config := serveConfig(b, address, l.master.Address(), l.master.PuppetConf())
			l.daemon, _ = start(b, nil, program, "serve", "--config", config)
			waitForAnswer(b, urlOf(address))
		}
		list = append(list, l)
	}
	sleep(b, brief(age))
	used := measureLooked(b, list)

	t := &table{title: fmt.Sprintf("CPU time per second of looking at a Puppet Server, %s after its start", age)}
	t.row("", "Puppet Server", "pmcheck")
	t.row("nobody", milliseconds(used[0][0]), "")
	for i, l := range list[1:] {
		t.row(l.name, milliseconds(used[i+1][0]-used[0][0])+" more", milliseconds(used[i+1][1]))
	}
	if len(list) == 3 {
		t.third("Puppet Server", used[1][0]-used[0][0], used[2][0]-used[0][0])
		t.third("pmcheck", used[1][1], used[2][1])
	}
	t.add(b)
}

// startCold starts a Puppet Server with a JVM as shipped.
func startCold(b *testing.B) *lab.PuppetServer {
	s := lab.StartPuppetServer(b, lab.PuppetServerOptions{JavaArgs: []string{}, MaxActiveInstances: 2, HeapMB: 1024})
	s.WaitReady(5 * time.Minute)
	return s
}

// measureLooked returns the CPU seconds per second of each master, and of its daemon, over
// the same time.
func measureLooked(b *testing.B, list []*looked) (used [][2]float64) {
	sum := func() (all [][2]float64) {
		for _, l := range list {
			one := [2]float64{cpuTime(b, l.master.Pid()).Seconds(), 0}
			if l.daemon != 0 {
				one[1] = cpuTime(b, l.daemon).Seconds()
			}
			all = append(all, one)
		}
		return all
	}
	began, before := time.Now(), sum()
	sleep(b, brief(lookingWindow))
	took := time.Since(began).Seconds()
	for i, after := range sum() {
		used = append(used, [2]float64{(after[0] - before[i][0]) / took, (after[1] - before[i][1]) / took})
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

// third adds the goal that something takes at most a third of before.
func (t *table) third(what string, now, before float64) {
	t.goal(now <= before/3, "%s: %.2f of the old one, wanted a third", what, now/before)
}
