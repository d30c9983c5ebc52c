package daemon_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
)

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
