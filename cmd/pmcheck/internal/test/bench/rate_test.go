//go:build linux

package bench_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A server is a program whose rate of answers is measured.
type server struct {
	name string
	url  string
	pid  int

	rates []float64 // answers per second, by round
	costs []float64 // CPU seconds per answer, by round
}

// BenchmarkAnswers measures how many answers per second one wrk thread gets. With one
// CPU for the server and another for wrk, no server gains by using more of the machine:
// the CPU time per answer limits the rate.
func BenchmarkAnswers(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Fatal("needs a CPU for wrk and one for the server")
	}
	master := lab.StartStandIn(b, "master.bench.example")
	var servers []*server
	onCPU(b, 1, func() { servers = startServers(b, master) })
	for _, s := range servers {
		waitForAnswer(b, s.url)
	}
	for _, kept := range []bool{false, true} {
		name := "NewConnections"
		if kept {
			name = "KeptConnections"
		}
		b.Run(name, func(b *testing.B) {
			onCPU(b, 0, func() { measureAnswers(b, servers, kept) })
			compareAnswers(b, servers, kept)
		})
	}
}

// startServers starts pmcheck and the servers that it is compared with, and returns them in
// this order.
func startServers(b *testing.B, master *checktest.Master) []*server {
	b.Helper()
	address := lab.Address(b, "127.0.0.1")
	pmcheck := &server{name: "pmcheck", url: urlOf(address)}
	config := serveConfig(b, address, master.Address(), filepath.Join(master.Dir, "puppet.conf"))
	pmcheck.pid, _ = startDaemon(b, nil, config)
	servers := []*server{pmcheck}
	for _, kind := range []string{kindDefault, kindTuned} {
		s := &server{name: "net/http, " + kind}
		s.url, s.pid, _ = startBare(b, kind)
		servers = append(servers, s)
	}
	servers = append(servers, startHAProxy(b))
	return servers
}

func startHAProxy(b *testing.B) *server {
	b.Helper()
	address := lab.Address(b, "127.0.0.1")
	h := lab.StartHAProxy(b, fmt.Sprintf(`defaults
    mode http
    timeout client 10s
    timeout connect 1s
    timeout server 1s
frontend answers
    bind %s
    http-request return status 200 content-type "text/plain; charset=utf-8" string %q
`, address, answer))
	return &server{name: "HAProxy " + lab.HAProxyVersion(b), url: urlOf(address), pid: workerPid(b, h)}
}

// workerPid returns the process id of HAProxy's worker, a child of the process that was
// started.
func workerPid(b *testing.B, h *lab.HAProxy) int {
	b.Helper()
	for line := range strings.Lines(h.Admin("show info")) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "Pid: "); found {
			pid, err := strconv.Atoi(text)
			if err != nil {
				b.Fatal(err)
			}
			return pid
		}
	}
	b.Fatal("no Pid in HAProxy's answer to show info")
	return 0
}

// measureAnswers measures the servers in rounds, each of which begins with another server.
// There are twice as many rounds as elsewhere, and they are short: the machine changes less
// in a shorter time between two measurements.
func measureAnswers(b *testing.B, servers []*server, kept bool) {
	b.Helper()
	for _, s := range servers {
		s.rates, s.costs = nil, nil
	}
	times := 2 * rounds(b)
	if short() {
		times = 1
	}
	for round := range times {
		for i := range servers {
			s := servers[(round+i)%len(servers)]
			before := cpuTime(b, s.pid)
			result := lab.Wrk{URL: s.url, Connections: 16, Duration: time.Second, Reconnect: !kept}.Run(b)
			if result.Errors > 0 || result.Requests == 0 {
				b.Fatalf("%s: %d of %d requests failed", s.name, result.Errors, result.Requests)
			}
			s.rates = append(s.rates, result.RequestsPerSecond)
			s.costs = append(s.costs, (cpuTime(b, s.pid)-before).Seconds()/float64(result.Requests))
		}
	}
}

func compareAnswers(b *testing.B, servers []*server, kept bool) {
	b.Helper()
	pmcheck, bare, haproxy := servers[0], servers[1], servers[3]
	connections := "a new connection for each request"
	if kept {
		connections = "kept connections"
	}
	t := &table{title: fmt.Sprintf("Answers per second, one wrk thread, 16 at a time, %s; each server on one CPU "+
		"(GOMAXPROCS=1, nbthread 1), wrk on another", connections)}
	t.row("", "answers/s", "of bare net/http", "of HAProxy", "CPU per answer", "of bare net/http")
	for _, s := range servers {
		t.row(s.name,
			fmt.Sprintf("%.0f", median(s.rates)),
			fmt.Sprintf("%.2f", ratio(s.rates, bare.rates)),
			fmt.Sprintf("%.2f", ratio(s.rates, haproxy.rates)),
			fmt.Sprintf("%.1f µs", median(s.costs)*1e6),
			fmt.Sprintf("%.2f", ratio(s.costs, bare.costs)))
	}
	ofBare, ofHAProxy := ratio(pmcheck.rates, bare.rates), ratio(pmcheck.rates, haproxy.rates)
	t.goal(ofBare >= 0.95, "%.2f of bare net/http, wanted 0.95", ofBare)
	if !kept {
		t.goal(ofHAProxy >= 1, "%.2f of HAProxy, wanted 1", ofHAProxy)
	}
	t.add(b)
	b.ReportMetric(ofBare, "of-net/http")
	b.ReportMetric(ofHAProxy, "of-HAProxy")
}
