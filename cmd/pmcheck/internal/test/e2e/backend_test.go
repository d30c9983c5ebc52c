package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// What "pmcheck haproxy" prints passes the real HAProxy as it is, and does what it says.
func TestPrintedBackend(t *testing.T) {
	lab.Real(t)
	for _, tc := range []struct {
		name  string
		agent bool
		flags []string
		held  string // what HAProxy makes of a master in drain
	}{
		{"classic", false, nil, "DOWN"},
		{"graceful", false, []string{"--graceful"}, "NOLB"},
		{"agent-check", true, nil, "DRAIN (agent)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, yaml := standIn(t)
			var r *rig
			if tc.agent {
				r, _ = serveAgent(t, yaml)
			} else {
				r = serve(t, yaml)
			}
			backend, status := r.run(append([]string{"haproxy", "--server", "m1=" + m.Address(), "--inter", "200ms"}, tc.flags...)...)
			if status != 0 {
				t.Fatalf("pmcheck haproxy ends with %d", status)
			}
			config := "defaults\n    timeout client 30m\n" + backend
			lab.CheckHAProxyConfig(t, config)
			balancer := lab.StartHAProxy(t, config)
			fit, _ := balancer.WaitStat("puppet", "m1", func(s lab.ServerStat) bool {
				return s.CheckStatus == "L7OK" && (!tc.agent || s.AgentStatus == "L7OK")
			}, 10*time.Second)
			if fit.Status != "UP" {
				t.Errorf("status %s, want UP", fit.Status)
			}
			r.hold(drain.Drain)
			awaitServer(t, balancer, "puppet", "m1", tc.held, 10*time.Second)
		})
	}
}

// The HAProxy lines in the README and in packaging/doc load as printed.
func TestReadmeBackends(t *testing.T) {
	lab.Real(t)
	for _, path := range []string{"README.md", "packaging/doc/agent-check.md"} {
		text, err := os.ReadFile(filepath.Join("../../../../..", path))
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(text), "```haproxy\n")[1:]
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
