package bench_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// A pace is how often a backend asks, and how many answers it waits for.
type pace struct{ name, inter string }

// paces are that of the README and others, which BenchmarkNoticing compares.
var paces = []pace{
	{"`inter 2s fall 3`", "inter 2s fall 3 rise 2"},
	{"`inter 1s fall 3`", "inter 1s fall 3 rise 2"},
	{"`inter 1s fastinter 250ms fall 3`", "inter 1s fastinter 250ms fall 3 rise 2"},
	{"`inter 500ms fall 6`", "inter 500ms fall 6 rise 4"},
	{"`inter 400ms fall 7`", "inter 400ms fall 7 rise 5"},
}

// BenchmarkNoticing publishes, for each pace, how soon HAProxy notices that a master is killed, stopped or drained, and
// which stalls of the JVM take the master DOWN. All paces watch the same master at the same time, once with a drain
// that is answered 404 and once with one that is answered 503.
func BenchmarkNoticing(b *testing.B) {
	lab.Real(b)
	master := lab.StartPuppetServer(b, lab.PuppetServerOptions{})
	master.WaitReady(3 * time.Minute)
	site := lab.NewSite(b, lab.SiteOptions{Server: master})
	startDaemon(b, site)
	n := noticing{b: b, site: site}
	n.start()

	table := "| Checks | killed | stopped | drained, 404 | drained, 503 | Failed at a stall of 1, 2, 3, 4 s |\n" +
		"| --- | ---: | ---: | ---: | ---: | --- |\n"
	killed := n.measure(7, "DOWN", func() (mend func()) {
		master.Signal(syscall.SIGKILL)
		return func() { master.Kill(); master.Start(); master.WaitReady(3 * time.Minute) }
	})
	stopped := n.measure(4, "DOWN", func() (mend func()) {
		master.Signal(syscall.SIGSTOP)
		return func() { master.Signal(syscall.SIGCONT) }
	})
	drained := n.measure(5, "", func() (mend func()) {
		site.Hold(drain.Drain)
		return func() { site.Hold(drain.Ready) }
	})
	const stalls = 6
	var failed [5][]int
	for seconds := 1; seconds <= 4; seconds++ {
		failed[seconds] = n.stall(stalls, time.Duration(seconds)*time.Second)
	}
	for i, p := range paces {
		table += fmt.Sprintf("| %s | %s | %s | %s | %s | %d, %d, %d, %d |\n", p.name,
			killed.of(i, 404), stopped.of(i, 404), drained.of(i, 404), drained.of(i, 503),
			failed[1][i], failed[2][i], failed[3][i], failed[4][i])
	}
	lab.Publish(b, "noticing", table)
	report(b, table)
}

// BenchmarkBadNetwork prints how soon HAProxy notices, for each pace, that a host does not answer at all, and what
// takes a healthy master DOWN: a network that is cut for a few seconds, or that loses packets.
func BenchmarkBadNetwork(b *testing.B) {
	lab.Real(b)
	lab.Need(b, "nft", "nftables")
	n := noticing{b: b, site: lab.StartSite(b, lab.SiteOptions{})}
	n.start()
	nft := func(commands string) {
		cmd := exec.Command("nft", "-f", "-")
		cmd.Stdin = strings.NewReader(commands)
		lab.Output(b, cmd)
	}
	const flush = "flush chain inet bad input\n"
	rule := "add rule inet bad input tcp dport " + lab.Port(b, n.site.Listen)
	nft("add table inet bad\nadd chain inet bad input { type filter hook input priority 0; }\n")

	dead := n.measure(4, "DOWN", func() (mend func()) {
		nft(rule + " drop\n")
		return func() { nft(flush) }
	})
	var cuts [5][]int
	for seconds := 1; seconds <= 4; seconds++ {
		cuts[seconds] = n.countDowns(4, func() {
			nft(rule + " drop\n")
			time.Sleep(time.Duration(seconds) * time.Second)
			nft(flush)
			time.Sleep(3 * time.Second)
		})
	}
	loss := n.countDowns(1, func() {
		nft(rule + " numgen random mod 100 < 20 drop\n")
		time.Sleep(3 * time.Minute)
		nft(flush)
	})
	table := "| Checks | host does not answer | DOWN by 4 cuts of 1, 2, 3, 4 s each | DOWN in 3 min of 20 % loss |\n" +
		"| --- | ---: | --- | ---: |\n"
	for i, p := range paces {
		table += fmt.Sprintf("| %s | %s | %d, %d, %d, %d | %d |\n", p.name, dead.of(i, 404),
			cuts[1][i], cuts[2][i], cuts[3][i], cuts[4][i], loss[i])
	}
	report(b, table)
}

// countDowns does something to a healthy master, again and again, and returns how often each pace had it DOWN.
func (n *noticing) countDowns(rounds int, do func()) (downs []int) {
	downs = make([]int, len(paces))
	for range rounds {
		n.settle()
		was := n.stats()
		do()
		is := n.stats()
		for i := range paces {
			downs[i] += is[code(i, 404)].Downs - was[code(i, 404)].Downs
		}
	}
	return downs
}

type noticing struct {
	b    *testing.B
	site *lab.Site
	*lab.HAProxy
}

// start starts HAProxy with a backend for each pace and each code of a drain.
func (n *noticing) start() {
	host, port, err := net.SplitHostPort(n.site.Listen)
	lab.Must(n.b, err)
	config := ""
	for i, p := range paces {
		server := fmt.Sprintf("    server m1 %s check addr %s port %s %s\n", n.site.MasterAddress(), host, port, p.inter)
		config += "backend " + code(i, 404) + "\n    option httpchk GET /?drain=404\n    http-check disable-on-404\n" + server
		config += "backend " + code(i, 503) + "\n    option httpchk GET /\n" + server
	}
	n.HAProxy = lab.StartHAProxy(n.b, config)
}

func code(pace, code int) string { return fmt.Sprintf("way%d-%d", pace, code) }

// noticed are seconds by backend, one for each round.
type noticed map[string][]float64

// of formats the median and the most.
func (n noticed) of(pace, answer int) string {
	list := slices.Sorted(slices.Values(n[code(pace, answer)]))
	return fmt.Sprintf("%.1f s (%.1f)", list[len(list)/2], list[len(list)-1])
}

// measure returns how long after a fault each backend had the master in this state, or in any but UP.
func (n *noticing) measure(rounds int, status string, begin func() (mend func())) noticed {
	took := noticed{}
	for range rounds {
		n.settle()
		mend := begin()
		began, left := time.Now(), 2*len(paces)
		seen := map[string]bool{}
		for left > 0 && time.Since(began) < patience {
			time.Sleep(10 * time.Millisecond)
			for _, s := range n.stats() {
				out := s.Status == status || status == "" && !strings.HasPrefix(s.Status, "UP")
				if !seen[s.Backend] && out {
					seen[s.Backend] = true
					took[s.Backend] = append(took[s.Backend], time.Since(began).Seconds())
					left--
				}
			}
		}
		mend()
	}
	return took
}

// settle waits until every backend has the master UP, and for a moment more, so that faults are not in step with
// probes and health checks.
func (n *noticing) settle() {
	n.WaitEach(time.Minute, lab.ServerStat.Healthy)
	time.Sleep(rand.N(5 * time.Second))
}

// stall stops the JVM for a while, again and again, and returns how many health checks failed at most, by pace. Each
// stall begins within a second before a probe, the worst moment: a stall that begins later is noticed later, and a
// shorter part of it is answered 503.
func (n *noticing) stall(rounds int, d time.Duration) (failed []int) {
	failed = make([]int, len(paces))
	downs := make([]int, len(paces))
	for round := range rounds {
		n.WaitEach(time.Minute, lab.ServerStat.Healthy)
		asked := n.site.Status().Probe.Asked
		n.site.WaitStatus(time.Minute, func(s lab.Status) error {
			if !s.Probe.Asked.After(asked) {
				return errors.New("no new probe")
			}
			asked = s.Probe.Asked
			return nil
		})
		before := time.Second * time.Duration(2*round+1) / time.Duration(2*rounds)
		time.Sleep(time.Until(asked.Add(config.Default().Probe.Interval - before)))

		was := n.stats()
		n.site.Server.Signal(syscall.SIGSTOP)
		time.Sleep(d)
		n.site.Server.Signal(syscall.SIGCONT)
		time.Sleep(3 * time.Second) // the last health check of 503 may come after that
		is := n.stats()
		for i := range paces {
			name := code(i, 404)
			downs[i] += is[name].Downs - was[name].Downs
			failed[i] = max(failed[i], is[name].Failures-was[name].Failures)
		}
	}
	fmt.Printf("a stall of %v, %d times: DOWN %v, failed health checks at most %v\n", d, rounds, downs, failed)
	return failed
}

func (n *noticing) stats() map[string]lab.ServerStat {
	list, err := n.Stats()
	lab.Must(n.b, err)
	stats := map[string]lab.ServerStat{}
	for _, s := range list {
		stats[s.Backend] = s
	}
	return stats
}
