//go:build linux

package module_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestHAProxyChecksOverTLS: a real HAProxy can check with the server options that the class
// pmcheck::balancermember exports if tls is set. The tests of the module assert that it
// exports these options.
func TestHAProxyChecksOverTLS(t *testing.T) {
	lab.Real(t)
	sh := startShell(t, "tls: puppet\n")
	config := fmt.Sprintf(`
defaults
    mode tcp
    timeout connect 5s
    timeout client 5s
    timeout server 5s

backend puppet
    option httpchk GET /
    default-server check port LISTEN-PORT inter 100ms fall 3 rise 2 check-ssl verify required ca-file %[1]s
    server right MASTER check-sni %[2]s
    server wrong MASTER check-sni another.example
`, sh.site.Master.Files().CA, sh.site.Master.Name)
	h := sh.site.Balance(config)
	h.WaitStatus("puppet", "wrong", "DOWN", 10*time.Second)
	right, _ := h.WaitStat("puppet", "right", func(s lab.ServerStat) bool {
		return s.CheckStatus == "L7OK"
	}, 10*time.Second)
	if right.Status != "UP" {
		t.Errorf("the right server is %+v, want UP", right)
	}
}
