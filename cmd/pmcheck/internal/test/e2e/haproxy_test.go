package e2e_test

import (
	"errors"
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

// A balancer is a real HAProxy with one backend for each line, each with one server, m1.
type balancer struct {
	*lab.HAProxy
	t     *testing.T
	lines []line
}

// startBalancer starts HAProxy in front of a master and waits until every line has had a
// successful check.
func startBalancer(t *testing.T, lines []line, site *lab.Site) *balancer {
	t.Helper()
	var config strings.Builder
	config.WriteString(tcpDefaults)
	for _, l := range lines {
		fmt.Fprintf(&config, "backend %s\n", l.name)
		for _, option := range l.options {
			fmt.Fprintf(&config, " %s\n", option)
		}
		fmt.Fprintf(&config, " server m1 %s check port %s inter %d rise %d fall %d\n",
			site.MasterAddress(), lab.Port(t, site.Listen), l.inter.Milliseconds(), l.fall, l.fall)
	}
	b := &balancer{HAProxy: site.Balance(config.String()), t: t, lines: lines}
	b.waitForAll(func(l line, s lab.ServerStat) bool {
		return s.Status == "UP" && strings.TrimPrefix(s.CheckStatus, "* ") == "L7OK"
	}, 10*time.Second)
	return b
}

// waitForStatus waits until HAProxy gives every server this status, and returns
// how long each line took since a moment.
func (b *balancer) waitForStatus(status string, since time.Time, within time.Duration) map[string]time.Duration {
	b.t.Helper()
	took := map[string]time.Duration{}
	b.waitForAll(func(l line, s lab.ServerStat) bool {
		if s.Status == status && took[l.name] == 0 {
			took[l.name] = lab.Since(since)
		}
		return s.Status == status
	}, within)
	return took
}

// waitForAll waits until the server of every line is as wanted. If it gives up, the error
// names those that are not.
func (b *balancer) waitForAll(want func(line, lab.ServerStat) bool, within time.Duration) {
	b.t.Helper()
	lab.WaitFor(b.t, within, 10*time.Millisecond, func() error {
		stats, err := b.Stats()
		if err != nil {
			return err
		}
		found := map[string]lab.ServerStat{}
		for _, stat := range stats {
			found[stat.Backend] = stat
		}
		var wrong []error
		for _, l := range b.lines {
			if s := found[l.name]; !want(l, s) {
				wrong = append(wrong, fmt.Errorf("%s is %q by %q %s", l.name, s.Status, s.CheckStatus, s.CheckCode))
			}
		}
		return errors.Join(wrong...)
	})
}
