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

// crowdAddress is where the crowds come from: another host than the balancer's.
const crowdAddress = "198.19.0.1"

// dialCrowd connects to an address as one of a crowd.
func (s *site) dialCrowd(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = s.net.Inside(func() error {
		dialer := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(crowdAddress)}}
		conn, err = dialer.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// join connects to pmcheck as one of a crowd.
func (s *site) join() (net.Conn, error) {
	return s.dialCrowd(context.Background(), "tcp", s.host.Address+":9200")
}

// crowd has so many connections come, say something, and stay until hangUp, or
// until the test of the fault ends.
func (s *site) crowd(size int, say string) (conns []net.Conn) {
	s.t.Helper()
	s.t.Cleanup(func() { hangUp(conns) })
	for range size {
		conn, err := s.join()
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

func hangUp(conns []net.Conn) {
	for _, conn := range conns {
		conn.Close()
	}
}

// rush has so many workers do something over and over on connections of their own,
// count times in all. It returns when all have.
func (s *site) rush(workers, count int, do func(net.Conn) error) {
	s.t.Helper()
	todo := make(chan int)
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i := range todo {
				conn, err := s.join()
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

// held is what pmcheck has in use.
type held struct{ goroutines, descriptors int }

// held asks pmcheck what it has in use.
func (s *site) held() (held, error) {
	resp, err := s.client.Get("http://" + s.host.Address + ":9200/metrics")
	if err != nil {
		return held{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return held{}, fmt.Errorf("/metrics: %s, %w", resp.Status, err)
	}
	return held{gauge(body, "go_goroutines"), gauge(body, "process_open_fds")}, nil
}

func gauge(metrics []byte, name string) int {
	found := regexp.MustCompile(`(?m)^` + name + ` (\d+)$`).FindSubmatch(metrics)
	if found == nil {
		return -1
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n
}

// clean has a fault leave nothing behind: 20 s after it, pmcheck has as many
// goroutines and descriptors as before, but for a probe under way.
func clean(f fault) fault {
	const some = 10
	inject := f.inject
	var before held
	f.inject = func(s *site) {
		var err error
		if before, err = s.held(); err != nil || before.goroutines < 0 || before.descriptors < 0 {
			s.t.Fatalf("pmcheck has %+v, %v", before, err)
		}
		inject(s)
	}
	mend := f.mend
	f.mend = func(s *site) {
		if mend != nil {
			mend(s)
		}
		lab.RetryUntil(s.t, 20*time.Second, 50*time.Millisecond, func() error {
			after, err := s.held()
			if err == nil && (after.goroutines > before.goroutines+some || after.descriptors > before.descriptors+some) {
				err = fmt.Errorf("pmcheck had %+v and has %+v", before, after)
			}
			return err
		})
	}
	return f
}
