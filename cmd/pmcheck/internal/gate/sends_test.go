package gate

import (
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// TestSends: by what a daemon says. None is absent, and one that cannot be understood may have told a balancer that
// it keeps a master that is leaving.
func TestSends(t *testing.T) {
	const (
		begin = `{"services": [{"name": "server", "mode": "drain"}], "balancers": [{"node": "lb1", `
		up    = `"view": {"state": "UP"}}]}`
		lb1   = "balancer lb1 still sends"
	)
	for _, tt := range []struct {
		name, answer string // no answer: no daemon
		leaving      bool
		want         string
	}{
		{"no daemon", "", true, ""},
		{"not understood", "{", false, ""},
		{"not understood, leaving", "{", true, "the daemon does not say which balancers send"},
		{"up", begin + `"service": "server", ` + up, false, lb1},
		{"another service", begin + `"service": "ca", ` + up, false, ""},
		{"it hides the hold", begin + `"service": "server", "drain_code": 200, ` + up, false, ""},
		{"it has the master out", begin + `"service": "server", "view": {"state": "NOLB"}}]}`, false, ""},
		{"without a view", begin + `"service": "server"}]}`, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &Gate{Settings: config.Config{Socket: filepath.Join(t.TempDir(), "s")}}
			if tt.answer != "" {
				l, err := net.Listen("unix", g.Settings.Socket)
				if err != nil {
					t.Fatal(err)
				}
				say := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tt.answer)) }
				server := &http.Server{Handler: http.HandlerFunc(say)}
				go server.Serve(l)
				defer server.Close()
			}
			if got := g.sends(t.Context(), tt.leaving); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
