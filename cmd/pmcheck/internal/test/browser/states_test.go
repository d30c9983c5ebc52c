package browser

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// scene is a status of a master, and the page that knows the hour before.
type scene struct {
	name   string
	status lab.Status
	page   *lab.Page
}

const day = 24 * time.Hour

// scenes returns the states in which the page must be readable.
func scenes(now time.Time) []scene {
	idle := check.Pool{Size: 4, Free: 3, Borrowed: loans(1, 2.4)}
	full := check.Pool{Size: 4, Borrowed: loans(4, 14), Waiting: loans(7, 6)}
	healthy, busy := newScene("healthy", now, check.Healthy, check.OK, idle), newScene("busy", now, check.Busy,
		check.JRubyBusy, full)
	busy.status.Services[0].Verdict.Detail = "7 requests wait for a JRuby, the oldest is POST " +
		"/puppet/v3/catalog/web17.example.com for 6 s"

	drained := newScene("drained", now, check.Healthy, check.OK, idle)
	s := &drained.status
	s.Services[0].Mode, s.Services[0].Answer = drain.Maint, lab.Answer{Code: 503, Body: "maint"}
	s.Holds = []drain.Hold{
		{Holder: "upgrade", Mode: drain.Maint, By: "ada", Since: now.Add(-33 * time.Minute),
			Reason: "puppetserver 8.7: waiting for the new CA bundle to be everywhere"},
		{Holder: "operator", Mode: drain.Drain, By: "ada", Since: now.Add(-8 * time.Minute),
			Reason: "kernel upgrade, CHG-4711", Until: now.Add(52 * time.Minute)},
		{Holder: "backup", Service: "ca", Mode: drain.Drain, Reason: "nightly", Since: now.Add(-2 * time.Minute),
			UntilReboot: true},
	}
	s.Services[0].Departure.Blockers = []lab.Blocker{
		{Text: "lb2/puppet still sends (UP 2/3, 11 sessions)"},
		{Text: "POST /puppet/v3/catalog/web11.example.com for 41 s"},
		{Text: "3 connections in use, one from 2001:db8::1234:5678"},
	}

	stopped := newScene("stopped", now, check.Unhealthy, puppetclient.Refused, check.Pool{})
	s = &stopped.status
	s.Probe.Expiries, s.Probe.Reason = s.Probe.Expiries[1:], puppetclient.Refused
	s.Probe.Fault = "dial tcp 127.0.0.1:8140: connect: connection refused"
	s.Services[0].Verdict.Detail = s.Probe.Fault
	s.Services[0].Answer = lab.Answer{Code: 503, Body: "unhealthy: refused"}
	s.Warnings = []string{"holds are noticed late: inotify: too many open files"}
	stopped.page = hour(now.Add(-2*time.Minute), usual)
	return []scene{healthy, busy, drained, stopped}
}

// newScene returns a master with two balancers and an ordinary hour.
func newScene(name string, now time.Time, h check.Health, r check.Reason, pool check.Pool) scene {
	told := lab.Answer{Code: 200, Body: lab.ServingBody}
	finding := func(name string, state check.State, value string) check.Finding {
		return check.Finding{Check: name, Severity: check.Eject, State: state, Value: value, Checked: now.Add(-time.Second)}
	}
	jruby := finding(check.CheckJRuby, check.StateOK, fmt.Sprintf("%d of %d ready", pool.Ready(), pool.Size))
	jruby.Pool = &pool
	return scene{name: name, page: hour(now, usual), status: lab.Status{
		Version:  "1.4.0",
		Certname: "puppet1.example.com",
		Believed: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")},
		Time:     now,
		Started:  now.Add(-50 * time.Hour),
		Config:   lab.ConfigStatus{File: "/etc/pmcheck/pmcheck.yaml", Loaded: now.Add(-50 * time.Hour)},
		Services: []lab.ServiceStatus{{
			Name:           "server",
			Mode:           drain.Ready,
			Verdict:        check.Verdict{Health: h, Reason: r, Since: now.Add(-6 * time.Minute)},
			InServiceSince: now.Add(-50 * time.Hour),
			Answer:         told,
			Checks: []check.Finding{
				jruby,
				finding(check.CheckUnit, check.StateOK, "puppetserver.service active"),
				finding(check.CheckExpiry, check.StateWarn, "20 days"),
				finding(check.CheckDisk, check.StateNone, "/opt/puppetlabs/server/data 61% free"),
				finding(check.CheckCode, check.StateBad, "production 3f9c2ab1"),
			},
		}},
		Probe: lab.ProbeStatus{
			Address:    "localhost:8140",
			Count:      90000,
			Asked:      now.Add(-800 * time.Millisecond),
			Took:       .0042,
			ExpiryWarn: (30 * day).Seconds(),
			URL:        "https://puppet1.example.com:8140/status/v1/services/jruby-metrics?level=debug",
			Expiries: []check.Expiry{
				{Of: "server", Name: "puppet1.example.com", Until: now.Add(20 * day)},
				{Of: "own", Name: "puppet1.example.com", Until: now.Add(1300 * day)},
				{Of: "ca", Name: "Puppet CA: ca.example.com", Until: now.Add(3100 * day)},
				{Of: "crl", Name: "Puppet CA: ca.example.com", Until: now.Add(-5 * day)},
			},
		},
		Balancers: []lab.Balancer{
			balancer("192.0.2.10", "lb1", now, &lab.View{State: "NOLB", WeightTotal: 2, SessionsTotal: 17}),
			balancer("192.0.2.11", "lb2", now, &lab.View{State: "UP", Step: 2, Steps: 3, Weight: 1, WeightTotal: 1}),
			balancer("2001:db8::1234:5678", "", now, nil),
		},
	}}
}

func balancer(source, node string, now time.Time, view *lab.View) lab.Balancer {
	return lab.Balancer{
		Source:   netip.MustParseAddr(source),
		Node:     node,
		Service:  "server",
		Asks:     "/?drain=404",
		Seen:     now.Add(-700 * time.Millisecond),
		Interval: 2,
		Answer:   lab.Answer{Code: 200, Body: lab.ServingBody},
		Answers:  24,
		View:     view,
	}
}

func loans(n int, oldest float64) (list []check.Loan) {
	for i := range n {
		list = append(list, check.Loan{
			Request: fmt.Sprintf("POST /puppet/v3/catalog/web%d.example.com", 11+i),
			Seconds: oldest - float64(i)/2,
		})
	}
	return list
}

// usual returns how many JRubies work, and how many requests wait, in a step of an ordinary hour.
func usual(i int) (working, waiting int) {
	return max(0, int(1.5+math.Sin(float64(i)/19)+math.Sin(float64(i)/7))), 0
}

func hour(now time.Time, pool func(step int) (working, waiting int)) *lab.Page {
	p := lab.NewPage()
	for i := range 360 {
		working, waiting := pool(i)
		p.Note(now.Add(time.Duration(i-359)*10*time.Second), &check.Pool{
			Size:     4,
			Borrowed: make([]check.Loan, working),
			Waiting:  make([]check.Loan, waiting),
		})
	}
	return p
}

// hostile returns a state in which an attacker has chosen every name.
func hostile(now time.Time) scene {
	s := scenes(now)[2]
	const script = `<script>document.title = "pwned"</script><img src=x onerror="document.title='pwned'">`
	long := strings.Repeat("W", 128)
	s.name, s.status.Certname = "hostile", `"><svg onload=alert(1)>.example.com`
	s.status.Holds[0].Reason, s.status.Holds[0].By = script, long
	s.status.Holds[1].Holder, s.status.Holds[1].Error = "';reboot;'"+long, script
	s.status.Balancers[0].Node, s.status.Balancers[0].Name = long, `</td></table><iframe/src="//192.0.2.1">`
	s.status.Balancers[1].Node = `<script/src="//192.0.2.1/x.js"></script>`
	s.status.Balancers[1].View.Sessions = math.MaxInt32
	s.status.Warnings, s.status.Config.Error = []string{script, long + long}, script
	s.status.Services[0].Checks[0].Pool.Borrowed = []check.Loan{{Request: "GET /" + script + long, Seconds: 2}}
	s.status.Services[0].Verdict.Detail, s.status.Services[0].Checks[1].Value = script, long
	s.status.Services[0].Departure.Blockers = []lab.Blocker{{Text: script}, {Text: long}}
	s.status.Probe.Expiries[2].Name, s.status.Probe.Fault, s.status.Probe.Address = script+long, long, long+":8140"
	return s
}
