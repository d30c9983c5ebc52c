package daemon_test

import (
	"net/http"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/drain"
)

func TestAnswersAreNotCached(t *testing.T) {
	t.Parallel()
	const text = "text/plain; charset=utf-8"
	tests := []struct {
		name, via string
		path      string
		drained   bool
		code      int
		kind      string // Content-Type
		cache     string // Cache-Control
	}{
		{"in service", "", "/", false, 200, text, ""},
		{"drain", "", "/", true, 503, text, ""},
		{"bad request", "", "/nothing", false, 400, text, ""},
		{"behind a cache", "1.1 varnish", "/", false, 200, text, "no-store"},
		{"drain behind a cache", "1.1 varnish", "/?drain=404", true, 404, text, "no-store"},
		{"live behind a cache", "1.1 varnish", "/live", false, 200, text, "no-store"},
		{"status is not cached", "", "/status", false, 200, "application/json", "no-store"},
	}
	r := start(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.drained {
				r.drain()
				defer r.ready()
			}
			req, err := http.NewRequest(http.MethodGet, "http://"+r.Address().String()+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.via != "" {
				req.Header.Set("Via", tt.via)
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tt.code {
				t.Errorf("status %d, want %d", resp.StatusCode, tt.code)
			}
			if got := resp.Header.Get("Content-Type"); got != tt.kind {
				t.Errorf("Content-Type %q, want %q", got, tt.kind)
			}
			if got := resp.Header.Get("Cache-Control"); got != tt.cache {
				t.Errorf("Cache-Control %q, want %q", got, tt.cache)
			}
		})
	}
}

// drain sets a hold and waits until balancers are told 503 drain.
func (r *testDaemon) drain() {
	r.t.Helper()
	if _, err := r.store.Put(drain.Hold{Holder: drain.Operator, Mode: drain.Drain}); err != nil {
		r.t.Fatal(err)
	}
	r.waitFor(503, "drain")
}

// ready lifts all holds and waits until balancers are told 200.
func (r *testDaemon) ready() {
	r.t.Helper()
	if _, err := r.store.LiftAll(); err != nil {
		r.t.Fatal(err)
	}
	r.waitFor(200, answer.Serving)
}
