//go:build linux

package faults_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// clientFaults returns faults caused by many clients at an address that is not the
// balancer's. Whatever they do, the balancer must get its answers.
func clientFaults() []fault {
	var conns []net.Conn
	leave := func(*faultSite) { closeAll(conns); conns = nil }
	stay := func(size int, say string) func(*faultSite) {
		return func(s *faultSite) { conns = s.connectMany(size, say) }
	}
	faults := []fault{
		{name: "10,000 idle connections", inject: stay(10000, ""), mend: leave, lasts: 8 * time.Second, long: true},
		{
			name:   "10,000 connections with half a request",
			inject: stay(10000, "GET / HTTP/1.1\r\nX-Slow: "),
			mend:   leave,
			lasts:  8 * time.Second,
			long:   true,
		},
		{name: "2000 connections with half a request", inject: stay(2000, "GET / HTTP/1.1\r\nX-Slow: "), mend: leave},
		{name: "slow loris: 1000 clients, a byte every 0.2 s", inject: slowLoris, long: true},
		{name: "headers of 1 MB", inject: repeat(8, 40, longHeader)},
		{name: "flood of 20,000 connections", inject: repeat(16, 20000, reset("GET / HTTP/1.1\r\n")), long: true},
		{name: "garbage instead of HTTP", inject: garbage, long: true},
		{name: "1000 requests for `/status` at a time", inject: askStatus, long: true},
	}
	for i := range faults {
		faults[i] = clean(faults[i])
	}
	return faults
}

func repeat(workers, count int, do func(net.Conn) error) func(*faultSite) {
	return func(s *faultSite) { s.repeat(workers, count, do) }
}

// slowLoris makes clients send headers byte by byte, and connect again when pmcheck
// closes the connection. A request has 10 s.
func slowLoris(s *faultSite) {
	const limit = 12 * time.Second
	s.repeat(1000, 3000, func(conn net.Conn) error {
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nX-Slow: "); err != nil {
			return nil
		}
		for began := time.Now(); lab.Since(began) < limit; time.Sleep(200 * time.Millisecond) {
			if _, err := io.WriteString(conn, "x"); err != nil {
				return nil
			}
		}
		return fmt.Errorf("the connection is still open %v after the start of a request", limit)
	})
}

// longHeader sends a header of 1 MiB. pmcheck must refuse it or close the connection.
func longHeader(conn net.Conn) error {
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", 1<<20)+"\r\n\r\n")
	return refused(conn)
}

// refused returns an error if the answer is 200.
func refused(conn net.Conn) error {
	line, _ := bufio.NewReader(conn).ReadString('\n')
	if strings.Contains(line, "200") {
		return fmt.Errorf("the answer is %q", line)
	}
	return nil
}

// reset returns a function that sends say and resets the connection on close.
func reset(say string) func(net.Conn) error {
	return func(conn net.Conn) error {
		if _, err := io.WriteString(conn, say); err != nil {
			return err
		}
		return conn.(*net.TCPConn).SetLinger(0)
	}
}

func garbage(s *faultSite) {
	noise := make([]byte, 4096)
	rand.Read(noise)
	for _, say := range []string{
		string(noise), "\x00", "\r\n\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /\r\n\r\n",
		"/ GET HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nbroken\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
		"GET //../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n", "SSH-2.0-x\r\n",
	} {
		s.repeat(8, 50, func(conn net.Conn) error {
			conn.SetDeadline(time.Now().Add(time.Second)) // pmcheck may wait for more input
			io.WriteString(conn, say)
			if err := refused(conn); err != nil {
				return fmt.Errorf("%.40q: %w", say, err)
			}
			return nil
		})
	}
}

// askStatus makes many requests for /status, the largest answer, at the same time. The
// configuration of the host allows them.
func askStatus(s *faultSite) {
	client := http.Client{
		Transport: &http.Transport{DialContext: s.dialClient, DisableKeepAlives: true},
		Timeout:   20 * time.Second,
	}
	var wait sync.WaitGroup
	for range 1000 {
		wait.Go(func() {
			resp, err := client.Get("http://" + s.Host.Address + ":9200/status")
			if err != nil {
				s.t.Error(err)
				return
			}
			defer resp.Body.Close()
			if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || len(body) == 0 {
				s.t.Errorf("/status: %s, %d bytes, %v", resp.Status, len(body), err)
			}
		})
	}
	wait.Wait()
}
