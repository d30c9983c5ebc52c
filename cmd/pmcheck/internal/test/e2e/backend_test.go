//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// TestPrintedBackendWorksUnchanged: the real HAProxy accepts what "pmcheck haproxy"
// prints, and acts as the comments in it say.
func TestPrintedBackendWorksUnchanged(t *testing.T) {
	lab.Real(t)
	for _, tc := range []struct {
		name  string
		flags []string
		held  string // HAProxy's status of a master in drain
	}{
		{"classic", nil, "DOWN"},
		{"graceful", []string{"--graceful"}, "NOLB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := lab.StartSite(t, lab.SiteOptions{})
			args := []string{"haproxy", "--server", "m1=" + r.MasterAddress(), "--inter", "200ms"}
			h := r.Balance("defaults\n    timeout client 30m\n" + r.MustRun(append(args, tc.flags...)...))
			up, _ := h.WaitStat("puppet", "m1", func(s lab.ServerStat) bool {
				return s.CheckStatus == "L7OK"
			}, 10*time.Second)
			if up.Status != "UP" {
				t.Errorf("status %s, want UP", up.Status)
			}
			r.Hold(drain.Drain)
			h.WaitStatus("puppet", "m1", tc.held, 10*time.Second)
		})
	}
}

// TestHAProxyAcceptsDocumentedBackends: HAProxy accepts the lines that the documents ask
// people to paste.
func TestHAProxyAcceptsDocumentedBackends(t *testing.T) {
	lab.Real(t)
	for _, path := range []string{"README.md"} {
		blocks := strings.Split(lab.ReadFile(t, path), "```haproxy\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("%s has no block for HAProxy", path)
		}
		for i, block := range blocks {
			lines, _, _ := strings.Cut(block, "```")
			if !strings.HasPrefix(lines, "backend ") {
				lines = "backend puppet\n    mode tcp\n" + lines + "    server puppet1 192.0.2.11:8140 check port 9200\n"
			}
			t.Run(fmt.Sprint(path, i), func(t *testing.T) {
				defaults := "defaults\n    timeout connect 5s\n    timeout client 30m\n    timeout server 30m\n"
				lab.CheckHAProxyConfig(t, defaults+lines)
			})
		}
	}
}
