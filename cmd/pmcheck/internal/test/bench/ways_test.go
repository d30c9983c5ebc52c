//go:build linux

package bench_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A way is a means by which HAProxy notices faults: lines of a backend, and the program
// that its health checks ask.
type way struct {
	name    string
	lines   string // lines of the backend
	address string // address of the program

	down map[string][]float64 // seconds from each fault to DOWN, by round
}

// ancestorLines are the lines of the recipe of 2013, with the check intervals of README.md.
const ancestorLines = `    option httpchk
    default-server check port 9200 inter 2s fall 3 rise 2
`

// quickLines check more often, since a check of pmcheck costs next to nothing.
const quickLines = `    option httpchk GET /
    http-check send-state
    default-server check port 9200 inter 500ms fastinter 100ms fall 3 rise 2
`

// readmeLines returns the lines of the backend in README.md.
func readmeLines(b *testing.B) string {
	b.Helper()
	_, block, _ := strings.Cut(lab.ReadFile(b, "README.md"), "```haproxy\nbackend puppet\n")
	block, _, found := strings.Cut(block, "    server ")
	if !found {
		b.Fatal("README.md: no backend for HAProxy")
	}
	return block
}

// backends returns a configuration of HAProxy with a backend for each way.
func backends(b *testing.B, ways []*way, master string) string {
	b.Helper()
	config := &strings.Builder{}
	fmt.Fprint(config, "defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 30m\n    timeout server 30m\n")
	for i, w := range ways {
		host, port, err := net.SplitHostPort(w.address)
		if err != nil {
			b.Fatal(err)
		}
		lines := strings.Replace(w.lines, "check port 9200", "check addr "+host+" port "+port, 1)
		fmt.Fprintf(config, "backend way%d\n%s    server m1 %s\n", i, lines, master)
	}
	return config.String()
}
