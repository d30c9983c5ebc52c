//go:build linux

package faults_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// clientAddress is the address of many clients. It is not the balancer's.
const clientAddress = "198.19.0.1"

// dialClient connects to an address as one of the clients.
func (s *faultSite) dialClient(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = s.Net.Inside(func() error {
		dialer := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(clientAddress)}}
		conn, err = dialer.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// connect connects to pmcheck as one of the clients.
func (s *faultSite) connect() (net.Conn, error) {
	return s.dialClient(context.Background(), "tcp", s.Host.Address+":9200")
}

// connectMany makes size connections that send say and stay open until closeAll, or until
// the test of the fault ends.
func (s *faultSite) connectMany(size int, say string) (conns []net.Conn) {
	s.t.Helper()
	s.t.Cleanup(func() { closeAll(conns) })
	for range size {
		conn, err := s.connect()
		if err != nil {
			s.t.Fatalf("connection %d: %v", len(conns), err)
		}
		conns = append(conns, conn)
		if _, err := io.WriteString(conn, say); err != nil {
			s.t.Logf("connection %d: %v", len(conns), err)
		}
	}
	return conns
}

func closeAll(conns []net.Conn) {
	for _, conn := range conns {
		conn.Close()
	}
}

// repeat calls do count times in total, each time with a new connection, from the given
// number of workers. It returns when all calls have returned.
func (s *faultSite) repeat(workers, count int, do func(net.Conn) error) {
	s.t.Helper()
	todo := make(chan int)
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i := range todo {
				conn, err := s.connect()
				if err == nil {
					err = do(conn)
					conn.Close()
				}
				if err != nil {
					s.t.Errorf("connection %d: %v", i, err)
				}
			}
		})
	}
	for i := range count {
		todo <- i
	}
	close(todo)
	wait.Wait()
}

// inUse counts the goroutines and descriptors of pmcheck.
type inUse struct{ goroutines, descriptors int }

// inUse returns the counts from pmcheck's metrics.
func (s *faultSite) inUse() (inUse, error) {
	code, body, err := s.Ask("/metrics")
	if err != nil || code != http.StatusOK {
		return inUse{}, fmt.Errorf("/metrics: %d, %w", code, err)
	}
	return inUse{gauge(body, "go_goroutines"), gauge(body, "process_open_fds")}, nil
}

func gauge(metrics, name string) int {
	found := regexp.MustCompile(`(?m)^` + name + ` (\d+)$`).FindStringSubmatch(metrics)
	if found == nil {
		return -1
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// clean adds a check to a fault's mend: within 20 s, pmcheck must have as many goroutines
// and descriptors as before the fault, except for a few that a probe uses.
func clean(f fault) fault {
	const some = 10
	inject := f.inject
	var before inUse
	f.inject = func(s *faultSite) {
		var err error
		if before, err = s.inUse(); err != nil || before.goroutines < 0 || before.descriptors < 0 {
			s.t.Fatalf("pmcheck reports %+v, %v", before, err)
		}
		inject(s)
	}
	mend := f.mend
	f.mend = func(s *faultSite) {
		if mend != nil {
			mend(s)
		}
		lab.WaitFor(s.t, 20*time.Second, 50*time.Millisecond, func() error {
			after, err := s.inUse()
			if err == nil && (after.goroutines > before.goroutines+some || after.descriptors > before.descriptors+some) {
				err = fmt.Errorf("pmcheck had %+v before the fault and has %+v now", before, after)
			}
			return err
		})
	}
	return f
}
