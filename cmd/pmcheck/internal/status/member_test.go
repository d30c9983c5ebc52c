package status_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

func TestManyMembersAreAskedAFewAtATime(t *testing.T) {
	var asking, most atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for n := asking.Add(1); ; {
			if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		io.WriteString(w, "{}")
		asking.Add(-1)
	}))
	defer server.Close()
	const pool = 400
	hosts := slices.Repeat([]string{server.Listener.Addr().String()}, pool)
	hosts[7] = "127.0.0.1:1"
	for i, m := range status.AskAll(t.Context(), hosts) {
		if m.Host != hosts[i] || (m.Status == nil) != (i == 7) || (m.Error != "") != (i == 7) {
			t.Errorf("member %d is %+v", i, m)
		}
	}
	if most.Load() > 128 {
		t.Errorf("%d at a time", most.Load())
	}
}

func TestNamedFindsTheMembersThatMeanAHost(t *testing.T) {
	for _, tt := range []struct{ name, fleet, names, want string }{
		{"by certname", "m1.example.com m2.example.com", "m2.example.com", "m2.example.com"},
		{"in capitals", "M1 m2", "m1.example.com", "M1"},
		{"by the first label", "m1.example.com m2.example.com", "cert m2", "m2.example.com"},
		{"by address", "192.0.2.1 192.0.2.2:9200", "m2 192.0.2.2", "192.0.2.2:9200"},
		{"IPv6", "2001:db8::1 [2001:db8::2]:9200", "2001:db8::2", "[2001:db8::2]:9200"},
		{"several times", "m1 m1.example.com:9300 m2", "m1.example.com", "m1 m1.example.com:9300"},
		{"two domains have its hostname", "m1.example.com m1.example.org", "m1.example.org m1", "m1.example.org"},
		{"no hosts", "m1/status javascript:alert(1)", "m1", ""},
	} {
		got := strings.Join(status.Named(strings.Fields(tt.fleet), strings.Fields(tt.names)), " ")
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
