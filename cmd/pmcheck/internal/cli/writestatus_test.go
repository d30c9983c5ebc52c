package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func TestStatusWrapsAtWords(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	clock := now.Format("2006-01-02 15:04:05 MST")
	s := status.Status{
		Version:  "0.9.0",
		Certname: "puppet1.example.com",
		Time:     now,
		Started:  now.Add(-time.Hour),
		Services: []status.ServiceStatus{{
			Name:   "server",
			Mode:   drain.Ready,
			Answer: status.Answer{Code: 503},
			Verdict: check.Verdict{
				Health: check.Unhealthy,
				Reason: check.UnitStopped,
				Detail: "x.service is stopped",
				Since:  now,
			},
			Checks: []check.Finding{
				{Check: "jruby", State: check.StateNone, Value: "3 of 3 free", Checked: now},
				{
					Check:   "disk",
					State:   check.StateWarn,
					Reason:  check.DiskLow,
					Value:   "/opt/puppetlabs/server/data 3% (300 MiB) free, 4% of the inodes",
					Detail:  "little is left",
					Checked: now,
				},
			},
		}},
		Balancers: []status.Balancer{
			{
				Node:     "lb1.example.com",
				Service:  "server",
				Asks:     "/?drain=404",
				Answer:   status.Answer{Code: 503},
				Seen:     now.Add(-time.Second),
				Interval: 2,
				View:     &status.View{State: "UP", Step: 2, Steps: 3, Weight: 100, WeightTotal: 300, SessionsTotal: 7},
			},
			{Node: "curl", Service: "server", Asks: "/", Checks: 1, Answer: status.Answer{Code: 503}, Seen: now},
		},
	}
	want := `
puppet1.example.com at 192.0.2.1:8140, pmcheck 0.9.0 up 1h

server     STOPPED: x.service is stopped
mode       ready
verdict    unhealthy: unit-stopped since 0s ago (CLOCK)
  detail   x.service is stopped
  hint     systemctl start UNIT, as the detail names it
check      disk warn, /opt/puppetlabs/server/data 3% (300 MiB) free, 4% of the
           inodes, 0s ago
  detail   disk-low: little is left
  hint     make room before agents fail: old reports, logs, heap dumps (*.hprof)
           and environments

balancer   lb1.example.com: UP 2/3, weight 100/300, sessions 0/7; told 503 1s
           ago; asks /?drain=404 every 2s
client     curl: no view; told 503 0s ago; asks /
probe      none yet
`
	s.Probe.Address = "192.0.2.1:8140"
	var b strings.Builder
	WriteStatus(&b, s)
	if diff := cmp.Diff(strings.ReplaceAll(want[1:], "CLOCK", clock), b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
