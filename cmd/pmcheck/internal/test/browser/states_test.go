//go:build linux

package browser

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// scene is a status of a master and the samples of the hour before, for the page to show.
type scene struct {
	name    string
	status  lab.Status
	samples []lab.Sample
}

const day = 24 * time.Hour

// scenes returns the states in which the page must be readable.
func scenes(now time.Time) []scene {
	minutes := func(n int) time.Time { return now.Add(-time.Duration(n) * time.Minute) }
	verdict := func(h check.Health, r check.Reason, detail string, since time.Time) check.Verdict {
		return check.Verdict{
			Health:  h,
			Reason:  r,
			Detail:  detail,
			Since:   since,
			Checked: now.Add(-time.Second),
			Expires: now.Add(4 * time.Second),
		}
	}
	healthy := verdict(check.Healthy, check.OK, "", now.Add(-50*time.Hour))
	hold := func(holder string, mode drain.Mode, reason string, since, until time.Time) lab.HoldStatus {
		h := drain.Hold{Holder: holder, Mode: mode, Reason: reason, By: "ada", Owner: "root", Since: since, Until: until}
		return lab.HoldStatus{Hold: h, Who: h.Who()}
	}
	idle := check.Pool{Size: 4, Free: 3, Borrowed: loans(1, 2.4), Lock: "not-in-use"}
	full := check.Pool{Size: 4, Borrowed: loans(4, 14), Waiting: loans(7, 6), Lock: "not-in-use"}
	stuck := check.Pool{Size: 4, Borrowed: loans(4, 318), Waiting: loans(9, 240), Lock: "not-in-use"}
	few := check.Pool{Size: 4, Free: 1, Lock: "not-in-use"}

	var list []scene
	add := func(name string, v check.Verdict, pool check.Pool, f check.Finding, view string,
		change func(int, *lab.Sample), holds ...lab.HoldStatus) {
		s := lab.Status{
			Version: "1.4.0", Certname: "puppet1.example.com", Time: now, Started: now.Add(-50 * time.Hour), Holds: holds,
			Config: lab.ConfigStatus{File: "/etc/pmcheck/pmcheck.yaml", Loaded: now.Add(-50 * time.Hour)},
			Probe:  probe(now),
		}
		s.Services = append(s.Services, service("server", v, holds))
		s.Services[0].Checks = checks(now, pool, f)
		s.Services[0].ServingSince = minutes(8)
		if v.Health == check.Healthy && len(holds) == 0 {
			s.Services[0].ServingSince = now.Add(-50 * time.Hour)
		}
		s.Balancers = balancers(now, s.Services[0].Answer, view)
		list = append(list, scene{name, s, samples(change)})
	}
	add("healthy", healthy, idle, check.Finding{State: check.StateOK, Reason: check.OK}, "UP", nil)
	add("busy", verdict(check.Busy, check.JRubyBusy,
		"7 requests wait for a JRuby, the oldest is POST /puppet/v3/catalog/web17.example.com for 6 s", minutes(6)), full,
		check.Finding{
			State:  check.StateWarn,
			Reason: check.JRubyBusy,
			Detail: "7 requests wait for a JRuby, the oldest is POST /puppet/v3/catalog/web17.example.com for 6 s",
		}, "UP",
		func(ago int, s *lab.Sample) {
			if ago < 36 {
				s.Working, s.Waiting = 4, 4+ago%5
			}
		})
	add("warming", verdict(check.Warming, check.JRubyWarming, "1 of 4 JRubies are ready", now.Add(-25*time.Second)), few,
		check.Finding{
			State:     check.StateBad,
			Reason:    check.JRubyWarming,
			Threshold: "4",
			Detail:    "1 of 4 JRubies are ready",
		}, "DOWN",
		func(ago int, s *lab.Sample) {
			if ago < 9 {
				*s = lab.Sample{Size: 4}
			}
		})
	add("stuck", verdict(check.Unhealthy, check.JRubyStuck,
		"9 requests wait and no JRuby came back for 5m18s"+
			"; the oldest loan is POST /puppet/v3/catalog/db3.example.com for 318 s", minutes(3)), stuck,
		check.Finding{
			State:     check.StateBad,
			Reason:    check.JRubyStuck,
			Threshold: "2m0s",
			Detail:    "9 requests wait and no JRuby came back for 5m18s",
		}, "DOWN",
		func(ago int, s *lab.Sample) {
			if ago < 32 {
				s.Working, s.Waiting = 4, (32-ago)/3
			}
		})
	add("drained", healthy, idle, check.Finding{State: check.StateOK, Reason: check.OK}, "NOLB", held(48),
		hold("operator", drain.Drain, "kernel upgrade, CHG-4711", minutes(8), now.Add(52*time.Minute)))
	list[len(list)-1].status.Services[0].Obstacles = obstacles(lab.ObstacleSending,
		"lb2 still sends (UP 2/3, 11 sessions)", "POST /puppet/v3/catalog/web11.example.com for 41 s",
		"3 connections in use, one from 2001:db8::1234:5678")
	none := check.Pool{Size: 4, Free: 4, Lock: "not-in-use"}
	add("maint", healthy, none, check.Finding{State: check.StateOK, Reason: check.OK}, "MAINT", held(200),
		hold("upgrade", drain.Maint, "puppetserver 8.7: waiting for the new CA bundle to be everywhere", minutes(33),
			time.Time{}),
		hold("operator", drain.Drain, "looking into slow catalogs", minutes(12), now.Add(48*time.Minute)),
		lab.HoldStatus{
			Hold: drain.Hold{
				Holder:      "backup",
				Service:     "ca",
				Mode:        drain.Drain,
				Reason:      "nightly",
				Owner:       "backup",
				Since:       minutes(2),
				UntilReboot: true,
			},
			Who: "backup",
		})
	add("stopped", verdict(check.Unhealthy, check.Refused, "dial tcp 127.0.0.1:8140: connect: connection refused",
		minutes(2)), idle,
		check.Finding{
			State:  check.StateNone,
			Reason: check.NotKnown,
			Detail: "dial tcp 127.0.0.1:8140: connect: connection refused",
		}, "DOWN",
		func(ago int, s *lab.Sample) {
			if ago < 12 {
				*s = lab.Sample{}
			}
		})
	stopped := &list[len(list)-1].status
	stopped.Probe.HTTP, stopped.Probe.TLS, stopped.Probe.Reason = 0, nil, check.Refused
	stopped.Probe.Fault = "dial tcp 127.0.0.1:8140: connect: connection refused"
	stopped.Services[0].Checks[0].Pool = nil
	stale := healthy
	stale.Checked, stale.Expires = now.Add(-100*time.Second), now.Add(-95*time.Second)
	add("stale", stale.At(now), idle, check.Finding{
		State:  check.StateNone,
		Reason: check.Stale,
		Detail: "the check is stuck: nothing since " + minutes(2).Format(time.RFC3339),
	}, "DOWN",
		func(ago int, s *lab.Sample) {
			if ago < 10 {
				*s = lab.Sample{}
			}
		})
	list[len(list)-1].status.Probe.Asked = stale.Checked
	list[len(list)-1].status.Warnings = []string{"the holds of x are on the unknown service y"}
	add("stop waits", healthy, idle, check.Finding{State: check.StateOK, Reason: check.OK}, "UP", nil,
		hold("guard", drain.Ready, "puppetserver is about to stop; waits for its turn: balancer lb1 has had no other "+
			"server for 12s", now.Add(-12*time.Second), now.Add(288*time.Second)))
	list[len(list)-1].status.Services[0].Keeps = obstacles(lab.ObstacleLast,
		"balancer lb1 has no other server for puppet/puppet1: it would have none left")
	return list
}

func obstacles(kind lab.ObstacleKind, texts ...string) (list []lab.Obstacle) {
	for _, text := range texts {
		list = append(list, lab.Obstacle{Kind: kind, Concerns: "lb", Text: text})
	}
	return list
}

func service(name string, v check.Verdict, holds []lab.HoldStatus) lab.ServiceStatus {
	mode := drain.Ready
	for _, h := range holds {
		if h.Covers(name) && h.Mode.StricterThan(mode) {
			mode = h.Mode
		}
	}
	return lab.ServiceStatus{
		Name:    name,
		Mode:    mode,
		Verdict: v,
		Hint:    v.Reason.Hint(),
		Answer:  lab.Decide(mode, v),
	}
}

func probe(now time.Time) lab.ProbeStatus {
	cert := func(ends time.Duration) check.Certificate {
		return check.Certificate{Subject: "puppet1.example.com", Issuer: "Puppet CA: ca.example.com", NotAfter: now.Add(ends)}
	}
	own := cert(1300 * day)
	return lab.ProbeStatus{
		Address:  "localhost:8140",
		Count:    90000,
		Asked:    now.Add(-800 * time.Millisecond),
		Took:     .0042,
		HTTP:     200,
		Interval: 2,
		URL:      "https://puppet1.example.com:8140/status/v1/services/jruby-metrics?level=debug",
		TLS:      &check.TLS{Version: "TLS 1.3", Server: cert(20 * day)},
		Own:      &own,
		CAs:      []check.Certificate{{Subject: "Puppet CA: ca.example.com", NotAfter: now.Add(3100 * day)}},
		CRLs:     []check.CRL{{Issuer: "Puppet CA: ca.example.com", Expires: now.Add(-5 * day)}},
	}
}

func checks(now time.Time, pool check.Pool, f check.Finding) []lab.CheckStatus {
	f.Check, f.Severity, f.Checked, f.Pool = check.CheckJRuby, check.Eject, now.Add(-3*time.Second), &pool
	f.Value = fmt.Sprintf("%d of %d ready, %d at work, %d waiting", pool.Ready(), pool.Size, len(pool.Borrowed),
		len(pool.Waiting))
	list := []check.Finding{f,
		{
			Check:    check.CheckUnit,
			Severity: check.Eject,
			State:    check.StateOK,
			Reason:   check.OK,
			Value:    "puppetserver.service active",
			Checked:  now.Add(-50 * time.Hour),
		},
		{
			Check:     check.CheckExpiry,
			Severity:  check.Warn,
			State:     check.StateWarn,
			Reason:    check.ExpiresSoon,
			Value:     "20 days",
			Threshold: "30 days",
			Detail:    "the server's certificate puppet1.example.com expires 2026-12-11T10:00:00Z",
			Checked:   now.Add(-time.Second),
		},
		{
			Check:     check.CheckDisk,
			Severity:  check.Eject,
			State:     check.StateOK,
			Reason:    check.OK,
			Value:     "/opt/puppetlabs/server/data 61% free",
			Threshold: "10%",
			Checked:   now.Add(-8 * time.Second),
		},
		{
			Check:    check.CheckCode,
			Severity: check.Warn,
			State:    check.StateOK,
			Reason:   check.OK,
			Value:    "production 3f9c2ab1",
			Checked:  now.Add(-20 * time.Second),
		},
	}
	var rows []lab.CheckStatus
	for _, f := range list {
		rows = append(rows, lab.CheckStatus{Finding: f, Hint: f.Reason.Hint()})
	}
	return rows
}

func balancers(now time.Time, told lab.Answer, state string) []lab.Balancer {
	total := 2
	if state == "UP" {
		total = 3
	}
	return []lab.Balancer{
		{
			Source:   netip.MustParseAddr("192.0.2.10"),
			Node:     "lb1",
			Name:     "puppet/puppet1",
			Service:  "server",
			Seen:     now.Add(-700 * time.Millisecond),
			Checks:   90000,
			Interval: 2,
			Answer:   told,
			Answers:  24,
			View:     &lab.View{State: state, Weight: total - 2, WeightTotal: total, Sessions: 3, SessionsTotal: 17},
		},
		{
			Source:   netip.MustParseAddr("192.0.2.11"),
			Node:     "lb2",
			Name:     "puppet/puppet1",
			Service:  "server",
			Seen:     now.Add(-1500 * time.Millisecond),
			Checks:   90000,
			Interval: 2,
			Answer:   told,
			Answers:  24,
			View: &lab.View{
				State:         "UP",
				Step:          2,
				Steps:         3,
				Weight:        1,
				WeightTotal:   1,
				Sessions:      11,
				SessionsTotal: 14,
				Queue:         2,
			},
		},
		{
			Source:   netip.MustParseAddr("2001:db8::1234:5678"),
			Service:  "server",
			Seen:     now.Add(-4 * time.Second),
			Checks:   700,
			Interval: 5,
			Answer:   told,
			Answers:  9,
		},
	}
}

func loans(n int, oldest float64) []check.Loan {
	list := make([]check.Loan, n)
	for i := range list {
		list[i] = check.Loan{
			Request: fmt.Sprintf("POST /puppet/v3/catalog/web%d.example.com", 11+i),
			Seconds: oldest - float64(i)/2,
		}
	}
	return list
}

// samples returns the samples of an ordinary hour. It calls change for each, with the
// number of samples after it.
func samples(change func(ago int, s *lab.Sample)) []lab.Sample {
	list := make([]lab.Sample, 360)
	for i := range list {
		wave := math.Sin(float64(i)/19) + math.Sin(float64(i)/7)
		list[i] = lab.Sample{Size: 4, Working: max(0, int(1.5+wave))}
		if i%127 == 90 {
			list[i].Waiting, list[i].Working = 1, 4
		}
		if change != nil {
			change(len(list)-1-i, &list[i])
		}
	}
	return list
}

func held(slots int) func(int, *lab.Sample) {
	return func(ago int, s *lab.Sample) {
		if ago < slots {
			s.Working /= 3
		}
	}
}

// hostile returns a state in which an attacker has chosen every name.
func hostile(now time.Time) scene {
	s := scenes(now)[5]
	const script = `<script>document.title = "pwned"</script><img src=x onerror="document.title='pwned'">`
	long := strings.Repeat("W", 128)
	s.name, s.status.Certname = "hostile", `"><svg onload=alert(1)>.example.com`
	s.status.Holds[0].Reason, s.status.Holds[0].By = script, long
	s.status.Holds[0].Who = s.status.Holds[0].Hold.Who()
	s.status.Holds[1].Holder, s.status.Holds[1].Code, s.status.Holds[1].Error = "';reboot;'"+long, drain.Unreadable, script
	s.status.Balancers[0].Node, s.status.Balancers[0].Name = long, `</td></table><iframe/src="//192.0.2.1">`
	s.status.Balancers[1].Node = `<script/src="//192.0.2.1/x.js"></script>`
	s.status.Balancers[1].View.Sessions = math.MaxInt32
	s.status.Warnings, s.status.Config.Error = []string{script, long + long}, script
	s.status.Services[0].Checks[0].Pool.Borrowed = []check.Loan{{Request: "GET /" + script + long, Seconds: 2}}
	s.status.Services[0].Verdict.Detail, s.status.Services[0].Checks[1].Value = script, long
	s.status.Services[0].Obstacles = obstacles(lab.ObstacleSending, script, long)
	s.status.Probe.CAs[0].Subject, s.status.Probe.Fault, s.status.Probe.Address = script+long, long, long+":8140"
	return s
}
