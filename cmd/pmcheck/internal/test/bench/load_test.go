//go:build linux

package bench_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// check sends a request as HAProxy's option httpchk does, over a new connection. It uses
// less CPU time than net/http's client, which would distort the measurement on a machine
// with few CPUs.
func check(address string) error {
	const patience = 10 * time.Second // the ancestor takes 5 s if the master does not answer
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return err
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		return err
	}
	line, _, _ := bytes.Cut(answer, []byte("\r\n"))
	if _, status, _ := bytes.Cut(line, []byte(" ")); !bytes.HasPrefix(status, []byte("200 ")) {
		return fmt.Errorf("answered %s", line)
	}
	return nil
}

// checkSteadily makes the given number of balancers ask, each once a second at its own
// offset, and returns the latencies in ascending order. A request is sent when it is due,
// even if the one before is not answered yet. Its latency counts from when it was due.
func checkSteadily(b *testing.B, address string, balancers int, window time.Duration) []time.Duration {
	b.Helper()
	moments := rand.New(rand.NewPCG(1, uint64(balancers))) // the same for all contenders
	offsets := make([]time.Duration, balancers)
	for i := range offsets {
		offsets[i] = time.Duration(moments.Int64N(int64(time.Second)))
	}
	slices.Sort(offsets)
	seconds := max(1, int(window/time.Second))
	took, errs := make([]time.Duration, seconds*balancers), make([]error, seconds*balancers)
	var asked sync.WaitGroup
	began := time.Now()
	for i := range took {
		due := began.Add(time.Duration(i/balancers)*time.Second + offsets[i%balancers])
		sleep(b, time.Until(due))
		asked.Go(func() {
			errs[i] = check(address)
			took[i] = time.Since(due)
		})
	}
	asked.Wait()
	sleep(b, time.Until(began.Add(time.Duration(seconds)*time.Second)))
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(took)
	return took
}

// checkConstantly makes clients ask, each as soon as it has an answer, and returns how many answers were 200, and
// how many were not or did not come.
func checkConstantly(address string, clients int, window time.Duration) (good, bad int64) {
	var answers, failures atomic.Int64
	var asking sync.WaitGroup
	began := time.Now()
	for range clients {
		asking.Go(func() {
			for time.Since(began) < window {
				if check(address) == nil {
					answers.Add(1)
				} else {
					failures.Add(1)
				}
			}
		})
	}
	asking.Wait()
	return answers.Load(), failures.Load()
}

// sleep is like time.Sleep, but does not round to milliseconds, as the runtime does when it
// has nothing else to wait for.
func sleep(b *testing.B, d time.Duration) {
	b.Helper()
	for left := unix.NsecToTimespec(int64(d)); left.Nano() > 0; {
		err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &left, &left)
		if err == nil {
			return
		}
		if err != unix.EINTR {
			b.Fatal(fmt.Errorf("sleep: %w", err))
		}
	}
}

// quantile returns the latency, in seconds, that per1000 of 1000 requests do not exceed.
func quantile(sorted []time.Duration, per1000 int) float64 {
	return sorted[(len(sorted)*per1000+999)/1000-1].Seconds()
}
