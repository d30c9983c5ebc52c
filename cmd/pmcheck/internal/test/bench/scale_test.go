//go:build linux

package bench_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// The pool that BenchmarkScale simulates. Each balancer asks each master once a second.
const (
	scaleMasters   = 1000
	scaleBalancers = 50
	scaleSilent    = 20 // masters that accept a connection and say nothing
	scaleGoal      = 2 * time.Second
	scrapeEvery    = 15 * time.Second // the interval in examples/prometheus
)

// BenchmarkScale simulates a pool of a thousand masters and fifty balancers. One daemon is
// real, and all balancers ask it. What it says of itself then is what every address of the
// pool says to `pmcheck status --fleet`, a real HAProxy and a real Prometheus.
//
// The table has a section of its own in proof.md.
func BenchmarkScale(b *testing.B) {
	t := &table{title: fmt.Sprintf("A pool of %d masters and %d balancers, each of which asks each master once a second",
		scaleMasters, scaleBalancers)}
	p := &scalePool{}
	t.row("what", "CPU", "more")
	p.askDaemon(b, t)
	p.start(b)
	p.showFleet(b, t)
	p.check(b, t)
	p.scrape(b, t)
	b.ReportMetric(0, "ns/op")
	b.Logf("\n%s", t)
	if err := lab.WriteProof("scale", t.markdown()); err != nil {
		b.Fatal(err)
	}
}

// scalePool is the simulated masters, all served by the test itself on port 9200 of
// 127.1.0.0/16.
type scalePool struct {
	status, metrics []byte
	checks          atomic.Int64
}

func (p *scalePool) address(i int) string { return fmt.Sprintf("127.1.%d.%d", i/250, i%250+1) }

// askDaemon measures one daemon with and without the balancers, and keeps what it says.
func (p *scalePool) askDaemon(b *testing.B, t *table) {
	b.Helper()
	master, address := lab.StartStandIn(b, "master.bench.example"), lab.Address(b, "127.0.0.1")
	config := serveConfig(b, address, master.Address(), filepath.Join(master.Dir, "puppet.conf"))
	pid, stop := startDaemon(b, nil, config)
	defer stop()
	waitForAnswer(b, urlOf(address))
	idle := perSecond(b, pid, func() { lab.Pause(b, window(30*time.Second)) })
	ctx, end := context.WithCancel(b.Context())
	var balancers sync.WaitGroup
	for i := range scaleBalancers {
		balancers.Go(func() { askEverySecond(ctx, b, address, i) })
	}
	lab.Pause(b, 2*time.Second)
	asked := perSecond(b, pid, func() { lab.Pause(b, window(30*time.Second)) })
	get := func(path string) ([]byte, float64) {
		const times = 20
		var body []byte
		before := cpuTime(b, pid)
		for range times {
			body = fetch(b, urlOf(address)+path)
		}
		return body, (cpuTime(b, pid) - before).Seconds() / times
	}
	var scraped, told float64
	p.metrics, scraped = get("metrics")
	p.status, told = get("status")
	resident := float64(memory(b, pid).VmRSS)
	end()
	balancers.Wait()

	t.row("a daemon that no balancer asks", milliseconds(idle)+"/s", "probes and checks")
	t.row(fmt.Sprintf("the same, asked by %d balancers", scaleBalancers), milliseconds(asked)+"/s",
		mebibytes(resident)+" resident")
	t.row("the same, one scrape of its metrics", milliseconds(scraped), fmt.Sprintf("%d series, %d KiB",
		bytes.Count(p.metrics, []byte("\n"))-bytes.Count(p.metrics, []byte("\n#")), len(p.metrics)>>10))
	t.row("the same, one look at its status", milliseconds(told), fmt.Sprintf("%d KiB", len(p.status)>>10))
}

// askEverySecond asks as HAProxy does with http-check send-state, from an address of its
// own, until ctx ends.
func askEverySecond(ctx context.Context, b *testing.B, address string, balancer int) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 2, 0, byte(balancer+1))}}
	const request = "GET /?drain=404 HTTP/1.0\r\nX-Haproxy-Server-State: UP; address=127.0.0.1; port=8140; " +
		"name=puppet/m1; node=lb%d; scur=%d/10000; weight=1/%d; qcur=0\r\n\r\n"
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for sessions := 0; ; sessions++ {
		c, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			_, err = fmt.Fprintf(c, request, balancer, sessions%10, scaleMasters)
			_, readErr := io.Copy(io.Discard, c)
			err = errors.Join(err, readErr, c.Close())
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			b.Error(err)
			return
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// start serves what a daemon has said on all addresses of the pool.
func (p *scalePool) start(b *testing.B) {
	b.Helper()
	mux := http.NewServeMux()
	say := func(body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }
	}
	mux.HandleFunc("/status", say(p.status))
	mux.HandleFunc("/metrics", say(p.metrics))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		p.checks.Add(1)
		io.WriteString(w, answer)
	})
	listener, err := net.Listen("tcp", "0.0.0.0:9200")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: mux}
	go server.Serve(listener)
	b.Cleanup(func() { server.Close() })
}

// showFleet measures pmcheck status --fleet.
func (p *scalePool) showFleet(b *testing.B, t *table) {
	b.Helper()
	silent, err := net.Listen("tcp", "0.0.0.0:9300") // the kernel accepts
	if err != nil {
		b.Fatal(err)
	}
	defer silent.Close()
	for _, silent := range []int{0, scaleSilent} {
		var hosts []string
		for i := range scaleMasters {
			host := p.address(i)
			if i%(scaleMasters/scaleSilent) == 7 && silent > 0 {
				host += ":9300"
			}
			hosts = append(hosts, host)
		}
		config := serveConfig(b, "127.0.0.1:1", "127.0.0.1:2", "/nonexistent", "fleet: ["+strings.Join(hosts, ", ")+"]")
		var took, used []float64
		for range rounds(b) {
			var out bytes.Buffer
			cmd := exec.Command(lab.Build(b), "status", "--fleet", "--config", config)
			cmd.Env, cmd.Stdout = []string{"PATH=" + os.Getenv("PATH")}, &out
			began := time.Now()
			err := cmd.Run() // its exit status is that of the worst master
			took = append(took, time.Since(began).Seconds())
			used = append(used, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
			want := fmt.Sprintf("%d of %d masters serve", scaleMasters-silent, scaleMasters)
			if !strings.Contains(out.String(), want) {
				b.Fatalf("%v; the table does not say %q:\n%.2000s", err, want, &out)
			}
		}
		name := "`pmcheck status --fleet`"
		if silent > 0 {
			name += fmt.Sprintf(", %d masters do not answer", silent)
		}
		t.row(name, tenths(median(used)), "after "+tenths(median(took)))
		if silent == 0 {
			t.goal(median(took) <= scaleGoal.Seconds(), "the table after %s, wanted %s", tenths(median(took)),
				tenths(scaleGoal.Seconds()))
		}
	}
}

// check measures one real HAProxy that checks the whole pool.
func (p *scalePool) check(b *testing.B, t *table) {
	b.Helper()
	var config strings.Builder
	config.WriteString("defaults\n    mode tcp\n    timeout connect 1s\n    timeout client 1m\n    timeout server 1m\n" +
		"backend puppet\n    option httpchk GET /?drain=404\n    http-check disable-on-404\n    http-check send-state\n")
	for i := range scaleMasters {
		fmt.Fprintf(&config, "    server m%d %s:8140 check port 9200 inter 1s\n", i, p.address(i))
	}
	h := lab.StartHAProxy(b, config.String())
	pid := workerPid(b, h)
	lab.Pause(b, 3*time.Second) // the first checks are spread over inter
	var rate float64
	used := perSecond(b, pid, func() {
		began, before := time.Now(), p.checks.Load()
		lab.Pause(b, window(20*time.Second))
		rate = float64(p.checks.Load()-before) / time.Since(began).Seconds()
	})
	t.row("a balancer (HAProxy "+lab.HAProxyVersion(b)+")", milliseconds(used)+"/s", fmt.Sprintf("%.0f checks/s", rate))
}

// scrape measures a real Prometheus that scrapes the whole pool. It has no row if there is
// none.
func (p *scalePool) scrape(b *testing.B, t *table) {
	b.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		b.Log("no Prometheus on this machine: not measured")
		return
	}
	dir, targets := b.TempDir(), []string{}
	for i := range scaleMasters {
		targets = append(targets, fmt.Sprintf("'%s:9200'", p.address(i)))
	}
	config := fmt.Sprintf("scrape_configs:\n- job_name: pmcheck\n  scrape_interval: %v\n"+
		"  static_configs: [{targets: [%s]}]\n", scrapeEvery, strings.Join(targets, ", "))
	file := filepath.Join(dir, "prometheus.yml")
	lab.Write(b, file, config)
	pid, stop := start(b, nil, program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+lab.Address(b, "127.0.0.1"))
	defer stop()
	lab.Pause(b, window(2*scrapeEvery)) // the first scrape makes the series
	used := perSecond(b, pid, func() { lab.Pause(b, window(2*scrapeEvery)) })
	series := bytes.Count(p.metrics, []byte("\n")) - bytes.Count(p.metrics, []byte("\n#"))
	t.row(fmt.Sprintf("Prometheus, a scrape every %v", scrapeEvery), milliseconds(used)+"/s",
		fmt.Sprintf("%d series, %s resident", scaleMasters*series, mebibytes(float64(memory(b, pid).VmRSS))))
}

// tenths is for what takes so long that milliseconds mean nothing.
func tenths(seconds float64) string { return fmt.Sprintf("%.1f s", seconds) }

func fetch(b *testing.B, url string) []byte {
	b.Helper()
	resp, err := http.Get(url)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatal(resp.Status, err)
	}
	return body
}
