package module_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestCheckOverTLS has a real HAProxy check with the words that the class
// pmcheck::balancermember exports when tls is set; the module's own tests say
// that it exports these.
func TestCheckOverTLS(t *testing.T) {
	lab.Real(t)
	r := newRig(t, "tls: puppet\n")
	_, port, err := net.SplitHostPort(r.address)
	if err != nil {
		t.Fatal(err)
	}
	h := lab.StartHAProxy(t, fmt.Sprintf(`
defaults
    mode tcp
    timeout connect 5s
    timeout client 5s
    timeout server 5s

backend puppet
    option httpchk GET /
    default-server check port %[1]s inter 100ms fall 3 rise 2 check-ssl verify required ca-file %[2]s
    server right %[3]s check-sni %[4]s
    server wrong %[3]s check-sni another.example
`, port, r.master.Files().CA, r.master.Address(), r.master.Name))
	h.WaitStatus("puppet", "wrong", "DOWN", 10*time.Second)
	right, _ := h.WaitStat("puppet", "right", func(s lab.ServerStat) bool { return s.CheckStatus == "L7OK" }, 10*time.Second)
	if right.Status != "UP" {
		t.Errorf("HAProxy says %+v", right)
	}
}
