package e2e_test

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// What balancers.md says of HAProxy to a site.

// TestThreadsSendOneStreamOfHealthChecks: with four threads, pmcheck sees one balancer, which asks as often as with one
// thread.
func TestThreadsSendOneStreamOfHealthChecks(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	const inter, checks = 200 * time.Millisecond, 50
	site := lab.StartSite(t, lab.SiteOptions{})
	config := "global\n node lb1\n nbthread 4\nbackend puppet\n option httpchk GET /\n http-check send-state\n"
	config += fmt.Sprintf(" server m1 %s check port %s inter %dms\n", site.MasterAddress(), lab.Port(t, site.Listen),
		inter.Milliseconds())
	haproxy := site.Balance(config)
	if info := haproxy.Admin("show info"); !strings.Contains(info, "\nNbthread: 4\n") {
		t.Fatalf("not four threads:\n%s", info)
	}
	// seen waits until the daemon has counted so many checks, and returns how many it had counted when. On a busy machine
	// its answer may be late, so the time is the daemon's.
	seen := func(n int64) (counted int64, when time.Time) {
		site.WaitStatus(time.Minute, func(status lab.Status) error {
			streams := 0
			for _, b := range status.Balancers {
				if b.Node == "lb1" { // the other one is the test, which waited for the daemon
					streams++
					counted = b.Checks
				}
			}
			if streams > 1 {
				t.Fatalf("%d streams of health checks, want one", streams)
			}
			if counted < n {
				return fmt.Errorf("%d health checks, want %d", counted, n)
			}
			when = status.Time
			return nil
		})
		return counted, when
	}
	first, began := seen(1)
	last, ended := seen(first + checks)
	apart := ended.Sub(began) / time.Duration(last-first)
	t.Logf("measured: with nbthread 4, a health check every %v", apart.Round(time.Millisecond))
	if apart < inter*9/10 {
		t.Errorf("a health check every %v, want %v", apart, inter)
	}
}

// TestAgentsOvertakeInTheQueue: the line of balancers.md lets a client pass those that wait longer.
func TestAgentsOvertakeInTheQueue(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	const first, normal = "127.18.9.3", "127.18.9.2"
	line := regexp.MustCompile("`(tcp-request content set-priority-class [^`]+)`").FindStringSubmatch(
		lab.ReadFile(t, "packaging/doc/balancers.md"))
	if line == nil {
		t.Fatal("balancers.md has no line for priorities")
	}
	list := t.TempDir() + "/first.lst"
	lab.Write(t, list, first+"\n")
	server, entry := lab.Address(t, "127.0.0.1"), lab.Address(t, "127.0.0.1")
	startEchoAt(t, server)
	haproxy := lab.StartHAProxy(t, fmt.Sprintf(`frontend agents
    bind %s
    %s
    default_backend puppet
backend puppet
    timeout queue 1m
    server m1 %s maxconn 1
`, entry, strings.Replace(line[1], "/etc/haproxy/first.lst", list, 1), server))
	served := make(chan string)
	from := func(ip string) *session {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		c, err := dialer.Dial("tcp", entry)
		lab.Must(t, err)
		t.Cleanup(func() { c.Close() })
		return &session{c}
	}
	queued := func(n int) {
		t.Helper()
		lab.WaitFor(t, 10*time.Second, 5*time.Millisecond, func() error {
			if got := haproxy.Stat("puppet", "m1").Queued + queuedIn(haproxy, "puppet"); got < n {
				return fmt.Errorf("%d in the queue, want %d", got, n)
			}
			return nil
		})
	}
	holder := from(normal)
	if !holder.carries() {
		t.Fatal("no session")
	}
	for i, ip := range []string{normal, first} {
		s := from(ip)
		go func() {
			if !s.carries() {
				served <- ip + " failed"
				return
			}
			served <- ip
			s.Close()
		}()
		queued(i + 1)
	}
	holder.Close()
	if got := <-served + " " + <-served; got != first+" "+normal {
		t.Errorf("served in the order %s, want %s first", got, first)
	}
}

// queuedIn returns how many connections wait in a backend for any of its servers.
func queuedIn(h *lab.HAProxy, backend string) int {
	for line := range strings.Lines(h.Admin("show stat")) {
		if rest, found := strings.CutPrefix(line, backend+",BACKEND,"); found {
			n, _ := strconv.Atoi(strings.Split(rest, ",")[0])
			return n
		}
	}
	return 0
}

// TestHAProxyHasHalfOfItsDescriptorsAsConnections: where the configuration has no global maxconn.
func TestHAProxyHasHalfOfItsDescriptorsAsConnections(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	info := lab.StartHAProxy(t, "backend puppet\n server m1 127.0.0.1:8140\n").Admin("show info")
	number := func(name string) int {
		found := regexp.MustCompile(`(?m)^` + name + `: (\d+)$`).FindStringSubmatch(info)
		if found == nil {
			t.Fatalf("no %s in\n%s", name, info)
		}
		n, err := strconv.Atoi(found[1])
		lab.Must(t, err)
		return n
	}
	files, conns := number("Ulimit-n"), number("Maxconn")
	t.Logf("measured: %d connections with %d descriptors", conns, files)
	if conns > files/2 || conns < files*9/20 {
		t.Errorf("%d connections with %d descriptors, want nearly half", conns, files)
	}
}

// TestWhatCanBeChangedAtRunTime: by the commands that balancers.md names.
func TestWhatCanBeChangedAtRunTime(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	haproxy := lab.StartHAProxy(t, "backend puppet\n server puppet1 127.0.0.1:8140 weight 100 maxconn 100 maxqueue 5\n")
	commands := regexp.MustCompile("`(set (?:maxconn|weight|server) [^`…]+)`").FindAllStringSubmatch(
		lab.ReadFile(t, "packaging/doc/balancers.md"), -1)
	if len(commands) < 4 {
		t.Fatalf("balancers.md names %v", commands)
	}
	for _, command := range commands {
		if said := strings.TrimSpace(haproxy.Admin(command[1])); said != "" {
			t.Errorf("%s: %s", command[1], said)
		}
	}
	if said := haproxy.Admin("set maxqueue server puppet/puppet1 9"); !strings.Contains(said, "set ") {
		t.Errorf("set maxqueue is answered %q, want the list of commands", said)
	}
}

// TestTheLastResortUsesAMasterWithoutACheck: the line in runbook.md for a night on which no pmcheck answers.
func TestTheLastResortUsesAMasterWithoutACheck(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	line := regexp.MustCompile(`(?m)^echo '(disable health .*)' \| socat`).FindStringSubmatch(
		lab.ReadFile(t, "examples/prometheus/runbook.md"))
	if line == nil {
		t.Fatal("runbook.md has no last resort")
	}
	entry, master, closed := lab.Address(t, "127.0.0.1"), lab.Address(t, "127.0.0.1"), lab.Address(t, "127.0.0.1")
	startEchoAt(t, master)
	haproxy := lab.StartHAProxy(t, fmt.Sprintf(`frontend agents
    bind %s
    default_backend puppet
backend puppet
    option httpchk GET /?drain=404
    http-check disable-on-404
    default-server check port %s inter 200ms fall 2 rise 2 observe layer4 on-error sudden-death
    server puppet1 %s
`, entry, lab.Port(t, closed), master))
	haproxy.WaitStatus("puppet", "puppet1", "DOWN", 20*time.Second)
	if said := strings.TrimSpace(haproxy.Admin(line[1])); said != "" {
		t.Errorf("%s: %s", line[1], said)
	}
	haproxy.WaitStatus("puppet", "puppet1", "no check", 20*time.Second)
	if !startSession(t, entry).carries() {
		t.Error("no agent reaches the master")
	}
}

// TestSlowstartBoundsAReturningMaster: without it, a server that comes up while agents wait in the queue and others
// come gets twice its maxconn (HAProxy's issue 2744), here of 2.6.
func TestSlowstartBoundsAReturningMaster(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	const maxconn, agents = 10, 40
	echo, other := lab.Address(t, "127.0.0.1"), lab.Address(t, "127.0.0.1")
	startEchoAt(t, echo)
	startEchoAt(t, other)
	sent := map[string]int{}
	for name, slowstart := range map[string]string{"without": "", "with": "slowstart 60s"} {
		site := lab.StartSite(t, lab.SiteOptions{})
		entry := lab.Address(t, "127.0.0.1")
		haproxy := lab.StartHAProxy(t, fmt.Sprintf(`frontend agents
    bind %s
    default_backend puppet
backend puppet
    balance leastconn
    option redispatch 1
    timeout queue 1m
    option httpchk GET /
    server other %s maxconn 1
    server m1 %s check addr 127.0.0.1 port %s inter 200ms rise 2 maxconn %d weight 100 %s
`, entry, other, echo, lab.Port(t, site.Listen), maxconn, slowstart))
		site.Hold(drain.Maint)
		haproxy.WaitStatus("puppet", "m1", "DOWN", 10*time.Second)
		for range agents {
			startSession(t, entry)
		}
		lab.WaitFor(t, 10*time.Second, 5*time.Millisecond, func() error {
			if n := queuedIn(haproxy, "puppet"); n < agents-1 {
				return fmt.Errorf("%d wait in the queue", n)
			}
			return nil
		})
		site.Hold(drain.Ready)
		haproxy.WaitStatus("puppet", "m1", "UP", 10*time.Second)
		for range agents {
			startSession(t, entry)
		}
		lab.Pause(t, time.Second)
		sent[name] = haproxy.Stat("puppet", "m1").SessionsTotal // none has ended
	}
	t.Logf("measured: with maxconn %d a returning server gets %v connections, by slowstart", maxconn, sent)
	if sent["without"] != 2*maxconn || sent["with"] > maxconn/2 {
		t.Errorf("a returning server got %v connections, want %d without slowstart, and few with it", sent, 2*maxconn)
	}
}
