package status_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
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
	if !errors.Is(err, status.ErrNoDaemon) {
		t.Errorf("%v, want ErrNoDaemon", err)
	}
}

// A value takes up to a hundred times as much memory as in JSON.
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
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || used > 16 {
			t.Errorf("%s: %v, after %d MiB; want an error and at most 16", item, err, used)
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
	return status.Client{URL: server.URL}.Status(ctx)
}

// TestTheLargestStatusIsRead: whatever clients claim, a command can read the status of a master with as many balancers
// as are remembered, each of which keeps the master, and with 5,000 requests.
func TestTheLargestStatusIsRead(t *testing.T) {
	name := strings.Repeat("a.b:", 32)
	asks := "/?" + strings.Repeat(",{", 60)
	s := status.Status{Services: []status.ServiceStatus{{Name: "server", Checks: []check.Finding{{Pool: &check.Pool{}}}}}}
	v := &s.Services[0]
	for range 256 {
		b := status.Balancer{Node: name, Name: name, Service: "server", Asks: asks, View: &status.View{State: "UP"}}
		s.Balancers = append(s.Balancers, b)
		s.Silent = append(s.Silent, b)
		v.Keeps = append(v.Keeps, b.Alone())
		v.Obstacles = append(v.Obstacles, b.Alone())
	}
	for range 5_000 {
		v.Checks[0].Pool.Waiting = append(v.Checks[0].Pool.Waiting, check.Loan{Request: "GET /puppet/v3/catalog/a,b"})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(s)
	}))
	defer server.Close()
	if _, err := (status.Client{URL: server.URL}).Status(t.Context()); err != nil {
		t.Error(err)
	}
}
