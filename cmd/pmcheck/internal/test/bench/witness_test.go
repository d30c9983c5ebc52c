package bench_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// HAProxy has another witness than pmcheck: whether the connections of agents are accepted (observe layer4). limits are
// numbers of failures in a row that it believes; 0 stands for a backend that does not observe.
var limits = []int{0, 5, 10, 20}

// backendOf is the name of a backend by its place in limits.
func backendOf(i int) string { return fmt.Sprint("observes", i) }

// A door is the port of a stand-in for a Puppet Server: its process accepts connections, unless it is stopped, and has
// three JRubies. The queue of what it has not accepted is as long as Jetty's.
type door struct {
	address  string
	listener *net.TCPListener
	jrubies  chan struct{}
	stopped  *sync.RWMutex // locked while the process is stopped
}

const (
	jettyQueue = 50                     // Jetty's acceptQueueSize, by default what Java has for a ServerSocket
	catalog    = 100 * time.Millisecond // of a JRuby
)

func (d *door) open() error {
	l, err := net.Listen("tcp", d.address)
	if err != nil {
		return err
	}
	d.listener = l.(*net.TCPListener)
	raw, err := d.listener.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.Listen(int(fd), jettyQueue) })
	go d.serve()
	return errors.Join(err, failed)
}

func (d *door) serve() {
	for {
		conn, err := d.listener.Accept()
		if err != nil {
			return
		}
		d.stopped.RLock() // an accept that was under way when the process stopped takes one connection
		go d.compile(conn)
		d.stopped.RUnlock()
	}
}

// compile answers an agent.
func (d *door) compile(conn net.Conn) {
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return
	}
	d.jrubies <- struct{}{}
	time.Sleep(catalog)
	<-d.jrubies
	d.stopped.RLock()
	defer d.stopped.RUnlock()
	_, _ = conn.Write([]byte("."))
}

// A standIn is a master: a door for each backend, so that the agents of one do not fill the queue of another, and what
// pmcheck says of it.
type standIn struct {
	host    string
	says    atomic.Int64
	stopped sync.RWMutex
	doors   []*door
}

// startStandIn starts a master, and what answers HAProxy in the place of its pmcheck.
func startStandIn(b *testing.B, host string) *standIn {
	b.Helper()
	m := &standIn{host: host}
	m.says.Store(http.StatusOK)
	for range limits {
		d := &door{address: lab.Address(b, host), jrubies: make(chan struct{}, 3), stopped: &m.stopped}
		m.doors = append(m.doors, d)
	}
	lab.Must(b, m.revive())
	b.Cleanup(m.kill)

	l, err := net.Listen("tcp", host+":9200")
	lab.Must(b, err)
	pmcheck := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(m.says.Load()))
	})}
	go pmcheck.Serve(l)
	b.Cleanup(func() { pmcheck.Close() })
	return m
}

// kill closes the port. pmcheck says so within milliseconds.
func (m *standIn) kill() {
	for _, d := range m.doors {
		d.listener.Close()
	}
	m.says.Store(http.StatusServiceUnavailable)
}

func (m *standIn) revive() error {
	for _, d := range m.doors {
		if err := d.open(); err != nil {
			return err
		}
	}
	m.says.Store(http.StatusOK)
	return nil
}

// A street has two masters, a HAProxy with a backend for each limit, and agents that come.
type street struct {
	b       *testing.B
	masters []*standIn
	*lab.HAProxy
	fronts []string       // where the agents of each backend connect
	ran    []atomic.Int64 // connections of agents, by backend
	failed []atomic.Int64 // those that got no answer
}

// newStreet starts the HAProxy of this machine, or of the release that PMCHECK_RELEASE names, with the README's backend
// but for slowstart, by which a master that has returned would have few agents for a minute.
func newStreet(b *testing.B) *street {
	b.Helper()
	s := &street{b: b, ran: make([]atomic.Int64, len(limits)), failed: make([]atomic.Int64, len(limits))}
	for _, host := range []string{"127.1.0.1", "127.1.0.2"} {
		s.masters = append(s.masters, startStandIn(b, host))
	}

	observes := regexp.MustCompile(`(?m)^ *default-server observe.*error-limit (\d+).*\n`)
	backend := strings.Replace(readmeLines(b), " slowstart 60s", "", 1)
	line := observes.FindStringSubmatch(backend)
	if line == nil || line[1] != fmt.Sprint(limits[len(limits)-1]) {
		b.Fatalf("the README's error-limit is not the last of %v: %q", limits, line)
	}
	config := ""
	for i, limit := range limits {
		front := lab.Address(b, "127.0.0.1")
		s.fronts = append(s.fronts, front)
		observe := ""
		if limit > 0 {
			observe = strings.Replace(line[0], "limit "+line[1], fmt.Sprint("limit ", limit), 1)
		}
		config += fmt.Sprintf("frontend agents%d\n    bind %s\n    maxconn 2000\n", i, front)
		config += fmt.Sprintf("    default_backend %s\n", backendOf(i))
		config += fmt.Sprintf("backend %s\n%s", backendOf(i), strings.Replace(backend, line[0], observe, 1))
		for n, m := range s.masters {
			config += fmt.Sprintf("    server m%d %s\n", n+1, m.doors[i].address)
		}
	}

	s.HAProxy = startHAProxy(b, config)
	s.settle()
	return s
}

func startHAProxy(b *testing.B, config string) *lab.HAProxy {
	b.Helper()
	for _, release := range lab.HAProxyReleases() {
		if release.Suite == os.Getenv("PMCHECK_RELEASE") {
			return release.StartChroot(b).StartHAProxy(config)
		}
	}
	return lab.StartHAProxy(b, config)
}

// settle waits until every backend has both masters UP.
func (s *street) settle() { s.WaitEach(time.Minute, lab.ServerStat.Healthy) }

// agent is one connection of an agent.
func (s *street) agent(i int) {
	s.ran[i].Add(1)
	conn, err := net.DialTimeout("tcp", s.fronts[i], time.Minute)
	if err == nil {
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(2 * time.Minute))
		_, err = io.WriteString(conn, ".")
		if err == nil {
			_, err = io.ReadFull(conn, make([]byte, 1))
		}
	}
	if err != nil {
		s.failed[i].Add(1)
	}
}

// come has agents come at random, so many a second to each backend, until the returned function is called: it waits for
// them.
func (s *street) come(rate float64) (wait func()) {
	ctx, cancel := context.WithCancel(s.b.Context())
	var work sync.WaitGroup
	for i := range limits {
		work.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(time.Duration(rand.ExpFloat64() / rate * float64(time.Second)))
				work.Go(func() { s.agent(i) })
			}
		})
	}
	return func() { cancel(); work.Wait() }
}

// herd has so many agents come to each backend in the same moment, and returns a function that waits for them.
func (s *street) herd() (wait func()) {
	const agents = 600
	var work sync.WaitGroup
	for i := range limits {
		for range agents {
			work.Go(func() { s.agent(i) })
		}
	}
	return work.Wait
}

// downs are how often each backend has had a master DOWN.
func (s *street) downs() []int {
	list, err := s.Stats()
	lab.Must(s.b, err)
	downs := make([]int, len(limits))
	for _, stat := range list {
		for i := range limits {
			if stat.Backend == backendOf(i) {
				downs[i] += stat.Downs
			}
		}
	}
	return downs
}

// kill returns how many seconds each backend took to have a master DOWN that is killed.
func (s *street) kill(rate float64) (took []float64) {
	s.settle()
	wait := s.come(rate)
	defer wait()
	time.Sleep(time.Second + rand.N(2*time.Second))

	s.masters[0].kill()
	began := time.Now()
	took = make([]float64, len(limits))
	lab.WaitFor(s.b, time.Minute, 10*time.Millisecond, func() error {
		isUp := errors.New("UP")
		var err error
		for i := range limits {
			if took[i] > 0 {
				continue
			}
			if s.Status(backendOf(i), "m1") == "DOWN" {
				took[i] = time.Since(began).Seconds()
			} else {
				err = isUp
			}
		}
		return err
	})
	lab.Must(s.b, s.masters[0].revive())
	return took
}

// filter has a rule of nftables apply to what HAProxy sends to the ports of masters, for a while.
func (s *street) filter(d time.Duration, action string, masters ...*standIn) {
	nft := func(commands string) {
		cmd := exec.Command("nft", "-f", "-")
		cmd.Stdin = strings.NewReader(commands)
		lab.Output(s.b, cmd)
	}
	nft("add table inet bad\nadd chain inet bad output { type filter hook output priority 0; }\n")
	for _, m := range masters {
		nft(fmt.Sprintf("add rule inet bad output ip daddr %s tcp dport != 9200 %s\n", m.host, action))
	}
	time.Sleep(d)
	nft("delete table inet bad\n")
}

// stop stops the processes of both masters for a while.
func (s *street) stop(d time.Duration) {
	for _, m := range s.masters {
		m.stopped.Lock()
	}
	time.Sleep(d)
	for _, m := range s.masters {
		m.stopped.Unlock()
	}
}

// sysctl changes a setting of the network namespace for a while.
func (s *street) sysctl(d time.Duration, name, value string) {
	path := "/proc/sys/net/ipv4/" + name
	was := lab.Read(s.b, path)
	lab.Must(s.b, os.WriteFile(path, []byte(value), 0))
	time.Sleep(d)
	lab.Must(s.b, os.WriteFile(path, []byte(was), 0))
}

// arrivals are how many agents come each second.
var arrivals = []float64{2, 5, 10}

// An incident is something that makes connections fail while pmcheck says 200, or a master that is killed.
type incident struct {
	name string
	// herd says that 600 agents come half a second before. Otherwise ten come each second.
	herd bool
	do   func(s *street)
}

func incidents() []incident {
	const reject = "reject with tcp reset"
	return []incident{
		{name: "both stop for 1 s", do: func(s *street) { s.stop(time.Second) }},
		{name: "both stop for 4 s", do: func(s *street) { s.stop(4 * time.Second) }},
		{name: "both collect garbage, 6 times 0.5 s", do: func(s *street) {
			for range 6 {
				s.stop(500 * time.Millisecond)
				time.Sleep(500 * time.Millisecond)
			}
		}},
		{name: "packets are dropped for 4 s", do: func(s *street) { s.filter(4*time.Second, "drop", s.masters...) }},
		{name: "packets are dropped for 7 s", do: func(s *street) { s.filter(7*time.Second, "drop", s.masters...) }},
		{name: "1 packet of 100 is lost, 15 s", do: func(s *street) {
			s.filter(15*time.Second, "numgen random mod 100 < 1 drop", s.masters...)
		}},
		{name: "one rejects for 1 s", do: func(s *street) { s.filter(time.Second, reject, s.masters[0]) }},
		{name: "both reject for 1 s", do: func(s *street) { s.filter(time.Second, reject, s.masters...) }},
		{name: "herd", herd: true, do: func(*street) {}},
		{name: "herd, both stop for 4 s", herd: true, do: func(s *street) { s.stop(4 * time.Second) }},
		{name: "both stop for 4 s, herd meanwhile", do: func(s *street) {
			herd := make(chan func())
			go func() { time.Sleep(300 * time.Millisecond); herd <- s.herd() }()
			s.stop(4 * time.Second)
			(<-herd)()
		}},
		{name: "herd, both stop for 4 s, overflow resets", herd: true, do: func(s *street) {
			go s.sysctl(4*time.Second, "tcp_abort_on_overflow", "1")
			s.stop(4 * time.Second)
		}},
		{name: "herd, HAProxy has 100 ports, 6 s", herd: true, do: func(s *street) {
			s.sysctl(6*time.Second, "ip_local_port_range", "32768 32867")
		}},
		{name: "herd, one rejects for 1 s", herd: true, do: func(s *street) {
			s.filter(time.Second, reject, s.masters[0])
		}},
		{name: "herd, both reject for 1 s", herd: true, do: func(s *street) {
			s.filter(time.Second, reject, s.masters...)
		}},
		{name: "herd, one is killed", herd: true, do: func(s *street) {
			s.masters[0].kill()
			time.Sleep(8 * time.Second)
			lab.Must(s.b, s.masters[0].revive())
		}},
	}
}

// happen has an incident happen again and again, and returns for each backend how often a master was DOWN, and how many
// connections of agents failed.
func (s *street) happen(of incident, rounds int) (cells []string) {
	downs := make([]int, len(limits))
	for i := range limits {
		s.failed[i].Store(0)
		s.ran[i].Store(0)
	}
	for range rounds {
		s.settle()
		was := s.downs()
		var wait func()
		if of.herd {
			wait = s.herd()
			time.Sleep(500 * time.Millisecond)
		} else {
			wait = s.come(10)
			time.Sleep(time.Second)
		}
		of.do(s)
		time.Sleep(6 * time.Second) // longer than timeout connect
		wait()
		for i, n := range s.downs() {
			downs[i] += n - was[i]
		}
	}
	for i := range limits {
		cells = append(cells, fmt.Sprintf("%d; %d of %d", downs[i], s.failed[i].Load(), s.ran[i].Load()))
	}
	return cells
}

// BenchmarkWitness publishes how soon HAProxy has a killed master DOWN, with and without the witness, and what else
// makes it believe that witness.
func BenchmarkWitness(b *testing.B) {
	lab.Real(b)
	lab.Need(b, "nft", "nftables")
	s := newStreet(b)
	head := "| "
	for i, limit := range limits {
		if i == 0 {
			head += " | health checks alone"
		} else {
			head += fmt.Sprintf(" | `error-limit %d`", limit)
		}
	}
	head += " |\n| ---" + strings.Repeat(" | ---:", len(limits)) + " |\n"

	killed := head
	for _, rate := range arrivals {
		name := fmt.Sprintf("killed, %v connections a second", rate)
		b.Run(name, func(b *testing.B) {
			s := s.with(b)
			took := make([][]float64, len(limits))
			for range 7 {
				for i, t := range s.kill(rate) {
					took[i] = append(took[i], t)
				}
			}
			killed += "| " + name
			for _, list := range took {
				killed += fmt.Sprintf(" | %.1f s (%.1f)", median(list), slices.Max(list))
			}
			killed += " |\n"
		})
	}
	others := head
	for _, of := range incidents() {
		b.Run(of.name, func(b *testing.B) {
			const rounds = 4
			others += "| " + of.name + " | " + strings.Join(s.with(b).happen(of, rounds), " | ") + " |\n"
		})
	}
	tables := killed + "\n" + others
	lab.Publish(b, "witness", tables)
	report(b, tables)
}

// with returns the street for a part of the benchmark.
func (s *street) with(b *testing.B) *street {
	sub := *s
	sub.b = b
	return &sub
}
