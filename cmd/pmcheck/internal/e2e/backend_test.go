package e2e_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/lab"
)

// What "pmcheck haproxy" prints passes the real HAProxy as it is, and runs.
func TestPrintedBackend(t *testing.T) {
	lab.Real(t)
	for _, flags := range [][]string{nil, {"--graceful"}} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			demo := lab.FreeAddress(t, "127.0.0.1")
			_, port, err := net.SplitHostPort(demo)
			if err != nil {
				t.Fatal(err)
			}
			agent := exec.Command(lab.Build(t), "demo", "--listen", demo)
			if err := agent.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { agent.Process.Kill(); agent.Wait() })

			args := append([]string{"haproxy", "--server", "m1=127.0.0.1:8140", "--inter", "200ms"}, flags...)
			print := exec.Command(lab.Build(t), args...)
			print.Env = []string{"PMCHECK_LISTEN=:" + port}
			backend, err := print.Output()
			if err != nil {
				t.Fatal(err)
			}
			config := "defaults\n    timeout client 30m\n" + string(backend)
			lab.CheckHAProxyConfig(t, config)
			balancer := lab.StartHAProxy(t, config)
			balancer.WaitStat("puppet", "m1", func(s lab.ServerStat) bool { return s.CheckStatus == "L7OK" }, 10*time.Second)
		})
	}
}

// The lines that the README asks people to paste are HAProxy's own language.
func TestReadmeBackends(t *testing.T) {
	lab.Real(t)
	readme, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(readme), "```haproxy\n")[1:]
	if len(blocks) != 3 {
		t.Fatalf("%d blocks for HAProxy, want 3", len(blocks))
	}
	for i, block := range blocks {
		lines, _, _ := strings.Cut(block, "```")
		if !strings.HasPrefix(lines, "backend ") {
			lines = "backend puppet\n    mode tcp\n" + lines + "    server puppet1 192.0.2.11:8140 check port 9200\n"
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			lab.CheckHAProxyConfig(t, "defaults\n    timeout connect 5s\n    timeout client 30m\n    timeout server 30m\n"+lines)
		})
	}
}
