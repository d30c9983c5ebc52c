package nagios_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/nagios"
	"github.com/pmcheck/pmcheck/drain"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// status returns the status of a master that is in service.
func status(edit func(*api.Status)) api.Status {
	s := api.Status{
		Time: now,
		Services: []api.ServiceStatus{{
			Name:      "server",
			Mode:      drain.Ready,
			ModeSince: now.Add(-time.Hour),
			Verdict:   check.Verdict{Health: check.Healthy, Reason: check.OK},
			Checks: []api.CheckStatus{{Finding: check.Finding{
				Check: "jruby",
				State: check.StateOK,
				Pool:  &check.Pool{Size: 4, Free: 3},
			}}},
		}},
		Probe: api.ProbeStatus{
			Took: 0.005,
			TLS: &check.TLS{Server: check.Certificate{
				NotBefore: now.Add(-365 * 24 * time.Hour),
				NotAfter:  now.Add(60 * 24 * time.Hour),
			}},
		},
	}
	if edit != nil {
		edit(&s)
	}
	return s
}

// hold holds the master for some time.
func hold(s *api.Status, age time.Duration) {
	s.Services[0].Mode = drain.Drain
	s.Holds = append(s.Holds, api.HoldStatus{Hold: drain.Hold{
		Holder: "operator",
		Mode:   drain.Drain,
		Reason: "upgrade|reboot",
		By:     "alice",
		Owner:  "alice",
		Since:  now.Add(-age),
	}})
}

// puppetdb adds PuppetDB, and the check of it, to the status.
func puppetdb(s *api.Status, severity check.Severity, state check.State) {
	f := check.Finding{
		Check:    check.CheckPuppetDB,
		Severity: severity,
		State:    state,
		Reason:   check.NotKnown,
		Detail:   "connection refused",
	}
	v := check.Verdict{Health: check.Unknown, Reason: f.Reason, Detail: f.Detail}
	if state == check.StateBad {
		f.Health, f.Reason = check.Unhealthy, check.PuppetDBDown
		v.Health, v.Reason = f.Health, f.Reason
	}
	server := &s.Services[0]
	server.Checks = append(server.Checks, api.CheckStatus{Finding: f})
	server.Verdict = check.Fold(server.Verdict, []check.Finding{f})
	s.Services = append(s.Services, api.ServiceStatus{Name: f.Check, Mode: drain.Ready, Verdict: v})
}

func TestStatusLine(t *testing.T) {
	const perf = " | time=0.0050s;;;0 server_cert=5184000s;2592000:;604800: held="
	for _, test := range []struct {
		name string
		edit func(*api.Status)
		want string
	}{
		{"in service", nil, "OK - running" + perf + "0s;;14400 jrubies_free=3;;;0;4"},
		{
			"held",
			func(s *api.Status) { hold(s, time.Hour) },
			"WARNING - drain by operator (alice): upgrade/reboot, no end, held for 1h; running" + perf +
				"3600s;;14400 jrubies_free=3;;;0;4",
		},
		{
			"held and unhealthy: the hold says why",
			func(s *api.Status) {
				hold(s, time.Hour)
				s.Services[0].Verdict = check.Verdict{Health: check.Unhealthy, Reason: check.Refused}
			},
			"WARNING - drain by operator (alice): upgrade/reboot, no end, held for 1h; unhealthy: refused | ",
		},
		{
			"held, and a certificate expires: both",
			func(s *api.Status) {
				hold(s, time.Hour)
				s.Probe.TLS.Server.NotAfter = now.Add(time.Hour)
			},
			"CRITICAL - server certificate expires 2026-11-22T13:00:00Z (in 1h); " +
				"drain by operator (alice): upgrade/reboot, no end, held for 1h; running | ",
		},
		{"held for too long", func(s *api.Status) { hold(s, 5*time.Hour) }, "CRITICAL - drain by operator"},
		{
			"hold that cannot be read",
			func(s *api.Status) {
				hold(s, time.Minute)
				s.Holds[0].Code, s.Holds[0].Error = drain.Unreadable, "not JSON"
			},
			"CRITICAL - ",
		},
		{
			"initial mode",
			func(s *api.Status) {
				hold(s, 0)
				s.Holds[0].Since = time.Time{}
			},
			"WARNING - drain by operator (alice): upgrade/reboot, no end, held for 1h; running" + perf + "3600s",
		},
		{
			"a stop that the guard announces",
			func(s *api.Status) {
				hold(s, 5*time.Hour)
				s.Services[0].Mode, s.Holds[0].Mode = drain.Ready, drain.Ready
			},
			"OK - running" + perf + "0s",
		},
		{
			"unhealthy",
			func(s *api.Status) {
				s.Services[0].Verdict = check.Verdict{Health: check.Unhealthy, Reason: check.Refused, Detail: "no"}
			},
			"CRITICAL - unhealthy: refused: no | ",
		},
		{
			"unknown",
			func(s *api.Status) { s.Services[0].Verdict = check.Verdict{Health: check.Unknown, Reason: "stale"} },
			"UNKNOWN - unknown: stale | ",
		},
		{
			"the worst of two services",
			func(s *api.Status) {
				s.Services = append(s.Services, api.ServiceStatus{
					Name:    "ca",
					Mode:    drain.Ready,
					Verdict: check.Verdict{Health: check.Warming, Reason: "starting"},
				})
			},
			"WARNING - ca warming: starting | ",
		},
		{
			"PuppetDB is down, and its check warns",
			func(s *api.Status) { puppetdb(s, check.Warn, check.StateBad) },
			"WARNING - puppetdb: connection refused | ",
		},
		{
			"PuppetDB is down, and its check ejects",
			func(s *api.Status) { puppetdb(s, check.Eject, check.StateBad) },
			"CRITICAL - server unhealthy: puppetdb-down: connection refused; " +
				"puppetdb unhealthy: puppetdb-down: connection refused | ",
		},
		{
			"PuppetDB does not say how it is, and its check warns",
			func(s *api.Status) { puppetdb(s, check.Warn, check.StateNone) },
			"OK - server running; puppetdb unknown: not-known: connection refused | ",
		},
		{
			"PuppetDB is held",
			func(s *api.Status) {
				puppetdb(s, check.Warn, check.StateBad)
				hold(s, 5*time.Hour)
				s.Services[0].Mode, s.Services[1].Mode, s.Holds[0].Service = drain.Ready, drain.Drain, "puppetdb"
			},
			"CRITICAL - puppetdb drain by operator",
		},
		{
			"PuppetDB is asked for alone",
			func(s *api.Status) {
				puppetdb(s, check.Warn, check.StateBad)
				s.Services = s.Services[1:]
			},
			"CRITICAL - unhealthy: puppetdb-down: connection refused | ",
		},
		{
			"warming, and a certificate expires: both",
			func(s *api.Status) {
				s.Services[0].Verdict = check.Verdict{Health: check.Warming, Reason: check.UnitStarting}
				s.Probe.TLS.Server.NotAfter = now.Add(time.Hour)
			},
			"CRITICAL - server certificate expires 2026-11-22T13:00:00Z (in 1h); warming: unit-starting | ",
		},
		{
			"a check that warns",
			func(s *api.Status) {
				s.Services[0].Checks[0].State = check.StateBad
				s.Services[0].Checks[0].Severity = check.Warn
				s.Services[0].Checks[0].Detail = "disk full"
			},
			"WARNING - jruby: disk full | ",
		},
		{
			"a check that sees it coming",
			func(s *api.Status) {
				s.Services[0].Checks = append(s.Services[0].Checks, api.CheckStatus{Finding: check.Finding{
					Check:    check.CheckDisk,
					Severity: check.Eject,
					State:    check.StateWarn,
					Detail:   "/var: 4% free",
				}})
			},
			"WARNING - disk: /var: 4% free | ",
		},
		{
			"a check that is in the verdict already",
			func(s *api.Status) {
				s.Services[0].Verdict = check.Verdict{Health: check.Busy, Reason: check.JRubyBusy, Detail: "3 wait"}
				c := &s.Services[0].Checks[0]
				c.Severity, c.State, c.Health, c.Detail = check.Eject, check.StateWarn, check.Busy, "3 wait"
			},
			"WARNING - busy: jruby-busy: 3 wait | ",
		},
		{
			"a check that cannot know",
			func(s *api.Status) {
				c := &s.Services[0].Checks[0]
				c.Severity, c.State, c.Detail = check.Warn, check.StateNone, "timeout"
			},
			"OK - running | ",
		},
		{
			"expiry warns earlier than --warn-expiry",
			func(s *api.Status) {
				s.Services[0].Checks = append(s.Services[0].Checks, api.CheckStatus{Finding: check.Finding{
					Check:    check.CheckExpiry,
					Severity: check.Warn,
					State:    check.StateWarn,
					Reason:   check.ExpiresSoon,
					Detail:   "the CA certificate expires in 60 days",
				}})
			},
			"OK - running | ",
		},
		{
			"a CA expires",
			func(s *api.Status) {
				s.Probe.CAs = []check.Certificate{
					{Subject: "root", NotAfter: now.Add(3000 * 24 * time.Hour)},
					{Subject: "sub", NotAfter: now.Add(24 * time.Hour)},
				}
			},
			"CRITICAL - CA certificate expires 2026-11-23T12:00:00Z (in 24h) | time=0.0050s;;;0 " +
				"server_cert=5184000s;2592000:;604800: ca=86400s;2592000:;604800: held=0s",
		},
		{
			"old configuration in use",
			func(s *api.Status) { s.Config.Error = "line 3:\ntypo" },
			"WARNING - configuration not reloaded: line 3: typo | ",
		},
		{
			"certificate expires",
			func(s *api.Status) { s.Probe.TLS.Server.NotAfter = now.Add(20 * 24 * time.Hour) },
			"WARNING - server certificate expires 2026-12-12T12:00:00Z (in 20d) | ",
		},
		{
			"certificate expires soon",
			func(s *api.Status) { s.Probe.TLS.Server.NotAfter = now.Add(time.Hour) },
			"CRITICAL - server certificate expires 2026-11-22T13:00:00Z (in 1h) | ",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			line := nagios.Status(status(test.edit), nagios.Limits{
				WarnExpiry: 30 * 24 * time.Hour,
				CritExpiry: 7 * 24 * time.Hour,
				CritHold:   4 * time.Hour,
			})
			if want := "PUPPETSERVER " + test.want; !strings.HasPrefix(line.String(), want) {
				t.Errorf("got  %s\nwant %s", line, want)
			}
			if word := strings.Fields(test.want)[0]; line.State.String() != word {
				t.Errorf("state %v, want %s", line.State, word)
			}
		})
	}
}

// The service puppetserver-pool of the example reads the lines of the masters.
func TestIcingaCountsTheMastersThatDoNotServe(t *testing.T) {
	example, err := os.ReadFile("../../../../examples/icinga/pmcheck.conf")
	if err != nil {
		t.Fatal(err)
	}
	service := regexp.MustCompile(`(?s)\napply Service "puppetserver" .*?\n}`).Find(example)
	only := regexp.MustCompile(`vars.pmcheck_service = "(.*)"`).FindSubmatch(service)
	expression := regexp.MustCompile(`var out = "(.*)"`).FindSubmatch(example)
	if only == nil || expression == nil {
		t.Fatal("no pmcheck_service, or no expression for masters that are out")
	}
	out := regexp.MustCompile(string(expression[1]))
	expires := func(s *api.Status) { s.Probe.TLS.Server.NotAfter = now.Add(time.Hour) }
	for _, test := range []struct {
		name string
		edit func(*api.Status)
		want bool
	}{
		{"in service", func(*api.Status) {}, false},
		{"busy", func(s *api.Status) { s.Services[0].Verdict.Health = check.Busy }, false},
		{"PuppetDB is down", func(s *api.Status) { puppetdb(s, check.Warn, check.StateBad) }, false},
		{
			"another service is down",
			func(s *api.Status) {
				v := check.Verdict{Health: check.Unhealthy, Reason: check.Refused}
				s.Services = append(s.Services, api.ServiceStatus{Name: "pcp", Mode: drain.Ready, Verdict: v})
			},
			false,
		},
		{"held", func(s *api.Status) { hold(s, time.Hour) }, true},
		{"warming", func(s *api.Status) { s.Services[0].Verdict.Health = check.Warming }, true},
		{"unhealthy", func(s *api.Status) { s.Services[0].Verdict.Health = check.Unhealthy }, true},
		{"unknown", func(s *api.Status) { s.Services[0].Verdict.Health = check.Unknown }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, also := range map[string]func(*api.Status){"": func(*api.Status) {}, "a certificate expires": expires} {
				s := status(test.edit)
				also(&s)
				if err := s.Only(string(only[1])); err != nil {
					t.Fatal(err)
				}
				line := nagios.Status(s, nagios.Limits{CritExpiry: 7 * 24 * time.Hour})
				counted := line.State == nagios.Unknown || out.MatchString(line.String())
				if counted != test.want {
					t.Errorf("%s: out %v, want %v: %s", name, counted, test.want, line)
				}
			}
		})
	}
	if !out.MatchString(nagios.Failed(nagios.Critical, api.ErrNoDaemon).String()) {
		t.Error("a daemon that does not answer is not counted")
	}
}

// Without a threshold nothing is reported, not even what has expired: the verdict says whether
// that does harm.
func TestAThresholdOfZeroIsNeverReached(t *testing.T) {
	s := status(func(s *api.Status) { s.Probe.TLS.Server.NotAfter = now.Add(-time.Hour) })
	if line := nagios.Status(s, nagios.Limits{}); line.State != nagios.OK {
		t.Errorf("without thresholds: %s", line)
	}
	line := nagios.Status(s, nagios.Limits{WarnExpiry: time.Hour})
	if line.State != nagios.Warning {
		t.Errorf("without a threshold for CRITICAL: %s", line)
	}
}

func TestProbeLineOmitsLimitsThatAreNotSet(t *testing.T) {
	line := nagios.Probe(check.Verdict{Health: check.Healthy}, status(nil).Probe, nil, nagios.Limits{}, now)
	if want := "PUPPETSERVER OK - running | time=0.0050s;;;0 server_cert=5184000s"; line.String() != want {
		t.Errorf("got  %s\nwant %s", line, want)
	}
}

func TestProbeLineHasTheChecksThatWarn(t *testing.T) {
	checks := []api.CheckStatus{{Finding: check.Finding{
		Check:    check.CheckCode,
		Severity: check.Warn,
		State:    check.StateWarn,
		Detail:   "production: failed",
	}}}
	line := nagios.Probe(check.Verdict{Health: check.Healthy}, status(nil).Probe, checks, nagios.Limits{}, now)
	if want := "PUPPETSERVER WARNING - code: production: failed | "; !strings.HasPrefix(line.String(), want) {
		t.Errorf("got  %s\nwant %s", line, want)
	}
}

// Otherwise a Puppet Server that hangs would be UNKNOWN: nothing answers the other checks either.
func TestACheckThatDoesNotEndIsUnknownUnlessTheProbeSaysMore(t *testing.T) {
	checks := []api.CheckStatus{{Finding: check.Finding{
		Check:  check.CheckPuppetDB,
		State:  check.StateNone,
		Reason: check.Timeout,
		Detail: "no result in time",
	}}}
	for health, want := range map[check.Health]string{
		check.Healthy:   "PUPPETSERVER UNKNOWN - puppetdb: no result in time | ",
		check.Unhealthy: "PUPPETSERVER CRITICAL - unhealthy: timeout | ",
	} {
		v := check.Verdict{Health: health, Reason: check.Timeout}
		line := nagios.Probe(v, status(nil).Probe, checks, nagios.Limits{}, now)
		if !strings.HasPrefix(line.String(), want) {
			t.Errorf("got  %s\nwant %s", line, want)
		}
	}
}

func TestLineIsOneLine(t *testing.T) {
	if got, want := nagios.Failed(nagios.Unknown, errors.New("a\x1b[2J | b\nc")).String(),
		"PUPPETSERVER UNKNOWN - a[2J / b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
