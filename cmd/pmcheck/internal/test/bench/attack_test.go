package bench_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// BenchmarkAttack measures for how long HAProxy waits for answers while strangers keep 10,000 connections busy. They
// have a CPU of their own, as other hosts have.
func BenchmarkAttack(b *testing.B) {
	lab.Real(b)
	address := lab.Address(b, "127.0.0.1")
	demo := exec.Command(lab.Build(b), "demo", "--listen", address)
	_, err := demo.StdinPipe() // its end would end the demo
	lab.Must(b, err)
	lab.StartProgram(b, demo)
	config := ""
	for i := range 4 {
		config += fmt.Sprintf("backend lb%d\n option httpchk GET /?drain=404\n http-check send-state\n "+
			"server m1 %s check inter 500ms source 127.0.0.%d\n", i, address, 11+i)
	}
	h := lab.StartHAProxy(b, config)
	h.WaitEach(30*time.Second, lab.ServerStat.Healthy)
	pin(b, "0", demo.Process.Pid)
	pin(b, "1", os.Getpid())
	b.Cleanup(func() { pin(b, fmt.Sprintf("0-%d", runtime.NumCPU()-1), os.Getpid()) })

	for _, kind := range []string{"/status", "/metrics", "/"} {
		const lasts = 30 * time.Second
		end, connections := time.Now().Add(lasts), attack(address, kind, lasts)
		longest, late, looks := 0, 0, 0
		for ; time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			stats, err := h.Stats()
			lab.Must(b, err)
			for _, s := range stats {
				if s.Failures > 0 {
					b.Errorf("%s: %+v", kind, s)
				}
				longest = max(longest, s.CheckMillis)
				looks++
				if s.CheckMillis > 100 {
					late++
				}
			}
		}
		report(b, fmt.Sprintf("%s: %.0f new connections a second; HAProxy waited for %d ms at most, for more than 100 ms "+
			"in %d of %d looks", kind, float64(connections())/lasts.Seconds(), longest, late, looks))
	}
}

// pin binds a process, and what it starts, to CPUs.
func pin(b *testing.B, cpus string, pid int) {
	b.Helper()
	lab.Output(b, exec.Command("taskset", "--all-tasks", "--cpu-list", "--pid", cpus, strconv.Itoa(pid)))
}

// attack has 10,000 clients on 40 addresses connect every two seconds or, if they are still connected, as soon as they
// are not: a quarter with half a request, with 16 KiB of headers, with a hundred requests for a path whose answers it
// does not read, and with the view of a HAProxy that there is not. It returns a function that waits for their end, and
// returns how many connections there were.
func attack(address, path string, lasts time.Duration) (connections func() int64) {
	const clients, every = 10_000, 2 * time.Second
	requests := []string{
		"GET / HTTP/1.1\r\nHost: x\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 16<<10) + "\r\n\r\n",
		strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n", 100),
		"GET / HTTP/1.0\r\nX-Haproxy-Server-State: UP; name=p/m%d; node=lb%[1]d; weight=1/1; scur=0/0; qcur=0\r\n\r\n",
	}
	var made atomic.Int64
	var work sync.WaitGroup
	end := time.Now().Add(lasts)
	for i := range clients {
		work.Go(func() {
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+i%10), byte(1+i/10%4))}, Deadline: end}
			time.Sleep(time.Duration(i) * every / clients)
			for ; time.Now().Before(end); time.Sleep(every) {
				conn, err := dialer.Dial("tcp", address)
				if err != nil {
					continue
				}
				made.Add(1)
				conn.SetDeadline(end)
				request := requests[i%4]
				if i%4 == 3 {
					request = fmt.Sprintf(request, i)
				}
				io.WriteString(conn, request)
				if i%4 == 2 {
					time.Sleep(min(5*time.Second, time.Until(end)))
				} else {
					io.Copy(io.Discard, conn)
				}
				conn.Close()
			}
		})
	}
	return func() int64 { work.Wait(); return made.Load() }
}
