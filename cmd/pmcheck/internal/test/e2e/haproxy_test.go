package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A line is one way in which HAProxy can check a master.
type line struct {
	name    string   // of the backend
	options []string // of the backend
	inter   time.Duration
	fall    int
}

// quick is the interval of the lines for which none is documented.
const quick = 500 * time.Millisecond

// lines returns the checks that pmcheck promises to answer.
func lines() []line {
	get := func(rest ...string) []string {
		return []string{"option httpchk", strings.Join(append([]string{"http-check send meth GET"}, rest...), " ")}
	}
	list := []line{
		{name: "bare", options: []string{"option httpchk"}},
		{name: "get", options: get("uri /")},
		{name: "head", options: []string{"option httpchk", "http-check send meth HEAD uri /"}},
		{name: "get-1.1", options: get("uri / ver HTTP/1.1 hdr Host master")},
		{name: "get-1.1-without-host", options: get("uri / ver HTTP/1.1")},
		{name: "old-spelling", options: []string{"option httpchk GET / HTTP/1.0"}},
		{name: "expect-running", options: append(get("uri /"), "http-check expect string running")},
		{name: "send-state", options: append(get("uri /"), "http-check send-state")},
		{name: "disable-on-404", options: append(get("uri /?drain=404"), "http-check disable-on-404")},
	}
	for i := range list {
		list[i].inter, list[i].fall = quick, 2
	}
	return append(list, ancestor())
}

// ancestor returns the backend of the xinetd check of 2013.
func ancestor() line {
	return line{name: "ancestor", inter: 2 * time.Second, fall: 3,
		options: []string{"balance source", "hash-type map-based", "option httpchk"}}
}

// startBalancer starts HAProxy in front of a master, with one backend for each line, each with one server, m1, and
// waits until every line has had a successful check.
func startBalancer(t *testing.T, lines []line, site *lab.Site) *lab.HAProxy {
	t.Helper()
	var config strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&config, "backend %s\n timeout check 2s\n", l.name)
		for _, option := range l.options {
			fmt.Fprintf(&config, " %s\n", option)
		}
		fmt.Fprintf(&config, " server m1 %s check port %s inter %d rise %d fall %d\n",
			site.MasterAddress(), lab.Port(t, site.Listen), l.inter.Milliseconds(), l.fall, l.fall)
	}
	b := site.Balance(config.String())
	b.WaitEach(10*time.Second, lab.ServerStat.Healthy)
	return b
}

// waitForStatus waits until HAProxy gives every server this status, and returns
// how long each line took since a moment.
func waitForStatus(b *lab.HAProxy, status string, since time.Time, within time.Duration) map[string]time.Duration {
	took := map[string]time.Duration{}
	b.WaitEach(within, func(s lab.ServerStat) bool {
		if s.Status == status && took[s.Backend] == 0 {
			took[s.Backend] = lab.Since(since)
		}
		return s.Status == status
	})
	return took
}
