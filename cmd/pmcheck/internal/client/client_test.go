package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

func TestADaemonThatHangsInItsAnswerDoesNotAnswer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := answered(ctx, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"version": "1`)
		_ = http.NewResponseController(w).Flush()
		<-ctx.Done()
	})
	if !errors.Is(err, client.ErrNoDaemon) {
		t.Errorf("%v, want ErrNoDaemon", err)
	}
}

// A value takes up to a hundred times as much memory as in JSON. The buffers of an answer of 4 MiB, the most that the
// client reads, have some 20 MiB together.
func TestHostileStatusIsRefusedBeforeItIsDecoded(t *testing.T) {
	const most = 2 << 20 // bytes
	for item, size := range map[string]int{
		"{},": most - 100, "null,": 8 * most, `"",`: 8 * most, `{"mode":{`: 8 * most, `{"holder":""},`: 8 * most,
	} {
		body := `{"services":[` + strings.Repeat(item, size/len(item)) + "{}]}"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ask(t, body)
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || used > 32 {
			t.Errorf("%s: %v, after %d MiB; want an error and at most 32", item, err, used)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, body string) (status.Status, error) {
	return answered(t.Context(), func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
}

func answered(ctx context.Context, daemon http.HandlerFunc) (status.Status, error) {
	server := httptest.NewServer(daemon)
	defer server.Close()
	return client.Daemon{URL: server.URL}.Status(ctx)
}

// TestTheLargestStatusIsRead: whatever clients claim, and whatever Puppet Server and an environment's directory say, a
// command can read the status of a master with as many of each as are kept.
func TestTheLargestStatusIsRead(t *testing.T) {
	name := strings.Repeat("a.b:", 32)
	asks := "/?" + strings.Repeat(",{", 60)
	pool := largestPool(t)
	code := check.Finding{Check: check.CheckCode}
	for range 1000 {
		e := check.Environment{
			Name:    strings.Repeat(`"`, 120),
			Unknown: strings.Repeat(`"`, 80),
			Failed:  strings.Repeat(`"`, 40),
		}
		code.Code = append(code.Code, e)
	}
	s := status.Status{Services: []status.ServiceStatus{{Name: "server", Checks: []check.Finding{{Pool: pool}, code}}}}
	v := &s.Services[0]
	for range 256 {
		b := status.Balancer{Node: name, Name: name, Service: "server", Asks: asks, View: &status.View{State: "UP"}}
		s.Balancers = append(s.Balancers, b)
		s.Silent = append(s.Silent, b)
		v.Departure.Blockers = append(v.Departure.Blockers, b.Alone())
		v.Departure.Return = append(v.Departure.Return, b.Alone())
	}
	own := netip.MustParsePrefix("2001:db8:1:1:1:1:1:1/128")
	s.Gate = &status.GateStatus{Passes: slices.Repeat([]netip.Prefix{own}, 10_000)}
	data, err := status.Encode(s)
	if err != nil {
		t.Fatal(err)
	}

	read, err := answered(t.Context(), func(w http.ResponseWriter, _ *http.Request) { w.Write(data) })
	if err != nil {
		t.Fatalf("%d bytes: %v", len(data), err)
	}
	if got, _ := read.Services[0].Pool(); len(got.Waiting) != len(pool.Waiting) {
		t.Errorf("%d requests wait, want %d", len(got.Waiting), len(pool.Waiting))
	}
}

// largestPool returns the largest pool that a probe returns: with one more request, it returns none.
func largestPool(t *testing.T) *check.Pool {
	t.Helper()
	m, err := checktest.NewMaster(t.TempDir(), "puppet.example.test", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p := &check.Prober{Client: puppetclient.Client{Address: m.Address(), ServerName: m.Name, Timeout: time.Minute,
		Credentials: &puppetclient.Credentials{Files: m.Files()}}}
	p.Accepts = func(context.Context) (bool, error) { return true, nil }
	defer p.Close()

	loan := check.Loan{Request: "GET /" + strings.Repeat(`<"`, 1000), Seconds: 123456.789}
	var largest *check.Pool
	for n := 1000; ; n += 1000 {
		loans := slices.Repeat([]check.Loan{loan}, n)
		m.SetPool(check.Pool{Size: 1, Borrowed: loans, Waiting: loans})
		r := p.Probe(t.Context())
		if r.Pool == nil {
			return largest
		}
		largest = r.Pool
	}
}
