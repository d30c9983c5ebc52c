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

// How long a JVM is left alone before it is measured, and how long it is then measured by
// itself and with pmcheck. The latter has its share of handshakes: one every 5 minutes.
const (
	lookingAge    = 5 * time.Minute
	idleWindow    = time.Minute
	lookingWindow = 5 * time.Minute
	calmAfter     = 35 * time.Second // a daemon's first half minute is busier than the rest
)

// A looker is a daemon that looks at a master, with its defaults.
type looker struct {
	name, program  string
	server, daemon []float64 // CPU seconds per second, by round
}

// brief is window for times that mean nothing in the short form.
func brief(long time.Duration) time.Duration {
	if short() {
		return time.Second
	}
	return long
}

// BenchmarkLooking measures what looking at a master costs it and pmcheck, when nothing else
// asks it: the code of its JVM is not warmed up, as in production. PMCHECK_OLD may name
// another pmcheck, to be compared in the same run; PMCHECK_LOOKING_AGE another age of the JVM.
func BenchmarkLooking(b *testing.B) {
	age, err := time.ParseDuration(cmp.Or(os.Getenv("PMCHECK_LOOKING_AGE"), lookingAge.String()))
	if err != nil {
		b.Fatal(err)
	}
	master := lab.StartPuppetServer(b, lab.PuppetServerOptions{JavaArgs: []string{}, MaxActiveInstances: 2, HeapMB: 1024})
	master.WaitReady(5 * time.Minute)
	sleep(b, brief(age))

	address := lab.Address(b, "127.0.0.1")
	config := serveConfig(b, address, master.Address(), master.PuppetConf())
	lookers := []*looker{{name: "pmcheck", program: lab.Build(b)}}
	if old := os.Getenv("PMCHECK_OLD"); old != "" {
		lookers = append(lookers, &looker{name: "the pmcheck of PMCHECK_OLD", program: old})
	}
	var alone []float64
	for range min(rounds(b), 3) {
		idle := perSecond(b, master.Pid(), func() { sleep(b, brief(idleWindow)) })
		alone = append(alone, idle)
		for _, l := range lookers {
			pid, stop := start(b, nil, l.program, "serve", "--config", config)
			waitForAnswer(b, urlOf(address))
			sleep(b, brief(calmAfter))
			var server float64
			daemon := perSecond(b, pid, func() {
				server = perSecond(b, master.Pid(), func() { sleep(b, brief(lookingWindow)) })
			})
			l.server, l.daemon = append(l.server, server-idle), append(l.daemon, daemon)
			stop()
		}
	}
	t := &table{title: fmt.Sprintf("CPU time per second of looking at Puppet Server, %s after its start", age)}
	t.row("", "Puppet Server", "pmcheck")
	t.row("nobody", milliseconds(median(alone)), "")
	for _, l := range lookers {
		t.row(l.name, milliseconds(median(l.server))+" more", milliseconds(median(l.daemon)))
	}
	if len(lookers) == 2 {
		now, old := lookers[0], lookers[1]
		of := ratio(now.server, old.server)
		t.goal(of <= 1.0/3, "Puppet Server: %.2f of the old one, wanted a third", of)
		of = ratio(now.daemon, old.daemon)
		t.goal(of <= 1.0/3, "pmcheck: %.2f of the old one, wanted a third", of)
	}
	t.add(b)
}
