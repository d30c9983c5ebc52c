package daemon_test

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// Slow clients that use up all connections, again and again, do not keep a balancer out.
func TestSlowClientsDoNotBlockBalancers(t *testing.T) {
	t.Parallel()
	const slots = 8
	r := start(t, func(c *config.Config) { c.MaxConnections = slots })
	var slow []net.Conn
	for range 5 * slots {
		c, err := net.Dial("tcp", r.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nX-Slow: "); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, c)
		if code, body := r.ask("OPTIONS / HTTP/1.0\r\n\r\n"); code != 200 || body != answer.Serving {
			t.Fatalf("%d %q with %d slow clients", code, body, len(slow))
		}
	}
	// The oldest have been evicted.
	slow[0].SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := slow[0].Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the first of %d slow clients is still connected (%v)", len(slow), err)
	}
}

// A request that is never completed delays the shutdown by 500 ms: a balancer that
// asks meanwhile has to wait.
func TestSlowClientsDoNotDelayShutdown(t *testing.T) {
	r := start(t, nil)
	c, err := net.Dial("tcp", r.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET / HTTP/1.1\r\nX-Slow: ")
	r.waitFor(200, answer.Serving) // so the slow client was accepted
	began := time.Now()
	r.stop()
	if took := time.Since(began); took > 5*time.Second { // 500 ms and a busy machine; the request has 10 s
		t.Errorf("the daemon took %s to end", took)
	}
}

// Many clients of one address evict each other, not a balancer of another address.
func TestAddressWithTheMostConnectionsIsEvicted(t *testing.T) {
	t.Parallel()
	const slots = 8
	r := start(t, func(c *config.Config) { c.Listen, c.MaxConnections = "0.0.0.0:0", slots })
	_, port, err := net.SplitHostPort(r.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	dial := func(from string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	balancer := dial("127.0.0.2")
	io.WriteString(balancer, "GET / HTTP/1.1\r\n") // the oldest request of all, and not complete
	for range 5 * slots {
		io.WriteString(dial("127.0.0.1"), "GET / HTTP/1.1\r\nX-Slow: ")
	}
	r.waitFor(200, answer.Serving) // so the slow clients were accepted, and evicted
	io.WriteString(balancer, "Host: x\r\nConnection: close\r\n\r\n")
	got, err := io.ReadAll(balancer)
	if !strings.Contains(string(got), answer.Serving) {
		t.Errorf("the balancer got %q, %v", got, err)
	}
}

func TestResetsMidAnswerAreHarmless(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	for range 50 {
		c, err := net.Dial("tcp", r.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
		c.(*net.TCPConn).SetLinger(0) // close with a reset
		c.Close()
	}
	r.waitFor(200, answer.Serving)
}

func TestPipelinedRequestsAreAllAnswered(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	c, err := net.Dial("tcp", r.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	one := "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	last := "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	io.WriteString(c, one+one+last)
	data, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(data), answer.Serving); got != 3 {
		t.Errorf("%d answers, want 3:\n%s", got, data)
	}
}
