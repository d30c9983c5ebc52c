package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// lb1 is the check of a balancer that has no other server.
const lb1 = "GET /?drain=404 HTTP/1.0\r\n" +
	"X-Haproxy-Server-State: UP; name=puppet/m1; node=lb1; weight=1/1; scur=2/2; qcur=0\r\n\r\n"

func TestRestartForgetsNoBalancer(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.ask(lb1)
	began := r.Status(time.Now()).ListensSince
	for range 2 {
		r.stop()
		r.run()
		s := r.Status(time.Now())
		if len(s.Balancers) != 1 || s.Balancers[0].Node != "lb1" || s.Balancers[0].Codes.Drain != 404 {
			t.Fatalf("after a restart: %+v", s.Balancers)
		}
		if !s.ListensSince.Equal(began) {
			t.Errorf("after a restart, balancers have been heard since %s, want %s", s.ListensSince, began)
		}
		if last := s.Services[0].Departure; !last.OnlyServer || last.Blockers[0].Kind != blocker.OnlyServer {
			t.Errorf("after a restart, the last server of lb1: %+v", last)
		}
	}
	r.hold(drain.Drain)
	r.waitUntil(func() bool { return r.Status(time.Now()).Services[0].Mode == drain.Drain })
	notTold := func(o status.Blocker) bool { return o.Kind == blocker.Balancer }
	if list := r.Status(time.Now()).Services[0].Departure.Blockers; !slices.ContainsFunc(list, notTold) {
		t.Errorf("a balancer that has not asked since is not a blocker: %+v", list)
	}
	r.config.Balancers = []netip.Prefix{netip.MustParsePrefix("198.51.100.1/32")}
	r.stop()
	r.run()
	s := r.Status(time.Now())
	if len(s.Balancers) != 0 {
		t.Errorf("restored %+v, which the setting balancers excludes", s.Balancers)
	}
	if !s.ListensSince.Equal(began) {
		t.Errorf("each client was heard, but those that are listed now since %s, want %s", s.ListensSince, began)
	}

	r.config.Balancers = append(r.config.Balancers, netip.MustParsePrefix("198.51.100.2/32"))
	r.stop()
	restarted := time.Now()
	r.run()
	if since := r.Status(time.Now()).ListensSince; since.Before(restarted) {
		t.Errorf("a balancer that was not listed has been heard since %s, before the restart at %s", since, restarted)
	}
}

// TestARestartRemembersThatABalancerWasForgotten: it may have the master in, and ask again.
func TestARestartRemembersThatABalancerWasForgotten(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	unseen := func() time.Time { return r.Status(time.Now()).UnseenUntil }
	for n := 0; unseen().IsZero(); n++ {
		r.ask(strings.Replace(lb1, "node=lb1", fmt.Sprintf("node=lb%d", n), 1))
	}
	before := unseen()
	r.stop()
	r.run()
	if after := unseen(); !after.Equal(before) {
		t.Errorf("not known until %s, want %s", after, before)
	}
}

// TestAPauseMakesADaemonYoung: balancers may have begun to ask that no daemon has heard.
func TestAPauseMakesADaemonYoung(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.stop()
	began := time.Now()
	r.editMemory(func(saved map[string]any) { saved["saved"] = began.Add(-2 * time.Minute) })
	r.run()
	if since := r.Status(time.Now()).ListensSince; since.Before(began) {
		t.Errorf("balancers have been heard since %s, before the start at %s", since, began)
	}
}

// TestABalancerThatIsNotListedIsNamed: until the hold is firm, its own view decides.
func TestABalancerThatIsNotListedIsNamed(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *config.Config) { c.Balancers = []netip.Prefix{netip.MustParsePrefix("198.51.100.1/32")} })
	held := func(leaving drain.Leaving) {
		_, err := r.store.Change(drain.Operator, "", func(drain.Hold) (drain.Hold, error) {
			return drain.Hold{Mode: drain.Drain, Leaving: leaving}, nil
		})
		must(t, err)
		r.waitUntil(func() bool {
			v := r.Status(time.Now()).Services[0]
			return v.Mode == drain.Drain && v.Departure.Leaving == leaving
		})
	}
	r.ask(lb1)
	s := r.Status(time.Now())
	if len(s.Balancers) != 0 || len(s.Unlisted) != 1 || s.Unlisted[0].Node != "lb1" {
		t.Errorf("balancers %+v, not listed %+v", s.Balancers, s.Unlisted)
	}
	if said := strings.Join(s.Warnings, "\n"); !strings.Contains(said, "balancer lb1 at 127.0.0.1 sends its view") {
		t.Errorf("it warns of %q", said)
	}
	held(drain.LeavingInTurn)
	if code, body := r.ask(lb1); code != 200 {
		t.Errorf("leaving, its last server: %d %q", code, body)
	}
	held(drain.Firm)
	if code, body := r.ask(lb1); code != 404 {
		t.Errorf("firm: %d %q", code, body)
	}
	r.config.Balancers = nil
	r.reload(r.config)
	r.ask(lb1)
	if s := r.Status(time.Now()); len(s.Balancers) != 1 || len(s.Unlisted) != 0 {
		t.Errorf("every client is believed: balancers %+v, not listed %+v", s.Balancers, s.Unlisted)
	}
}

// A restart must not ask a balancer on this host again whether the master answers.
func TestRestartKeepsWhereTheMasterWasFound(t *testing.T) {
	t.Parallel()
	const assumed = "127.0.0.1:1"
	r := start(t, func(c *config.Config) { c.Probe.Assumed = true })
	found := r.master.Address()
	probed := func() string { return r.Status(time.Now()).Probe.Address }

	r.stop()
	r.config.Probe.Address = assumed
	r.run()
	if got := probed(); got != found {
		t.Errorf("probed at %s, want %s", got, found)
	}
	r.stop()
	r.forget("")
	r.run()
	if got := probed(); got != assumed {
		t.Errorf("nothing is remembered: probed at %s, want %s", got, assumed)
	}

	r.config.Probe.Address = found
	r.config.Probe.Assumed = false
	r.stop()
	r.run()
	r.config.Probe.Address = assumed
	r.config.Probe.Assumed = true
	r.stop()
	r.run()
	if got := probed(); got != assumed {
		t.Errorf("the setting is gone: probed at %s, want %s", got, assumed)
	}
}

// The guard waits for agents of a balancer that has put the master in MAINT, and so no
// longer asks.
func TestRestartKeepsWhenABalancerAskedLast(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.stop()
	seen := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		saved string
		want  time.Time
	}{
		{`{"balancers": [{"source": "x"`, time.Time{}},
		{`{"balancers": [{"source": "198.51.100.1", "service": "server", "checks": 9, "seen": "2026-01-02T03:04:05Z"}]}`,
			seen},
		{`{"balancers": [` + strings.Repeat(`{},`, 500_000) + "{}]}", time.Time{}},
		{`{"balancers": [{"source": "198.51.100.1", "service": "server", "interval_seconds": -1e300}]}`, time.Time{}},
	} {
		must(t, os.WriteFile(filepath.Join(r.runtime, "memory.json"), []byte(tt.saved), 0o600))
		for range 2 {
			r.run()
			if s := r.Status(time.Now()); !s.BalancerAsked.Equal(tt.want) || len(s.Balancers) != 0 {
				t.Errorf("a balancer asked last at %v, want %v; %+v ask", s.BalancerAsked, tt.want, s.Balancers)
			}
			r.stop()
		}
	}
}

// A herd of agents saturates every master alike, and an upgrade of pmcheck meanwhile must not empty the pool.
func TestRestartKeepsASaturatedMasterAsLongAsItsProcessLives(t *testing.T) {
	t.Parallel()
	saturated := func(c *config.Config) { c.Probe.Timeout = 300 * time.Millisecond }
	for _, tt := range []struct {
		name string
		do   func(*testDaemon) // while no daemon runs
		code int
	}{
		{"an upgrade in a herd", func(*testDaemon) {}, 200},
		{"Puppet Server was restarted, and accepts before it answers", func(r *testDaemon) {
			r.master.Set(checktest.Stopped)
			r.master.Set(checktest.Saturated)
		}, 503},
		{"Puppet Server stopped (SIGSTOP)", func(r *testDaemon) { r.master.Set(checktest.Silent) }, 503},
		{"Puppet Server ended", func(r *testDaemon) { r.master.Set(checktest.Stopped) }, 503},
		{"nothing is remembered, as after a boot", func(r *testDaemon) { r.forget("") }, 503},
		{"half of a memory", func(r *testDaemon) { r.forget(`{"master": {"good": {"server": {"answered": "2026-`) }, 503},
		{"a memory of the future", func(r *testDaemon) {
			r.edit(func(m map[string]any) { m["answered"] = time.Now().Add(time.Hour) })
		}, 503},
		{"a memory of the distant past", func(r *testDaemon) {
			r.edit(func(m map[string]any) { m["answered"] = time.Time{} })
		}, 503},
		{"a memory of no process", func(r *testDaemon) {
			r.edit(func(m map[string]any) { m["listener"] = "" })
		}, 503},
		{"a memory of another process", func(r *testDaemon) {
			r.edit(func(m map[string]any) { m["listener"] = "1-0-1" })
		}, 503},
		{"our files are missing, which is a second doubt", func(r *testDaemon) {
			must(r.t, os.RemoveAll(r.master.Dir))
		}, 503},
		{"our certificate has expired", func(r *testDaemon) {
			yesterday := time.Now().Add(-24 * time.Hour)
			leaf, err := r.master.CA.Issue(checktest.Template{
				Name:      r.master.Name,
				NotBefore: yesterday.Add(-time.Hour),
				NotAfter:  yesterday,
			})
			must(r.t, err)
			key, err := leaf.KeyPEM()
			must(r.t, err)
			must(r.t, os.WriteFile(r.master.Files().Certificate, leaf.CertificatePEM(), 0o600))
			must(r.t, os.WriteFile(r.master.Files().Key, key, 0o600))
		}, 503},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, saturated)
			r.waitFor(200, answer.Serving)
			must(t, r.master.Set(checktest.Saturated))
			r.stop()
			tt.do(r)
			for range 2 { // the second must not lose what the first had from the one before
				r.run()
				if code, body := r.ask("GET / HTTP/1.0\r\n\r\n"); code != tt.code {
					t.Errorf("%d %q, want %d", code, body, tt.code)
				}
				r.stop()
			}
		})
	}
}

// The first check of a balancer comes before the first verdict, which takes the whole timeout of a probe.
func TestFirstAnswerAfterARestartIsOfASaturatedMaster(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *config.Config) { c.Probe.Timeout = 300 * time.Millisecond })
	r.waitFor(200, answer.Serving)
	must(t, r.master.Set(checktest.Saturated))
	r.stop()
	d := newDaemon(r.config, daemon.Options{Runtime: r.runtime})
	must(t, d.Listen(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	r.Daemon = d
	if code, body := r.ask("GET / HTTP/1.0\r\n\r\n"); code != 200 {
		t.Errorf("%d %q, want 200", code, body)
	}
	cancel()
	must(t, <-done)
}

// A master that was out stays out: its last good answer is not what the next daemon goes on from.
func TestRestartBringsNoMasterBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, said string
		set        func(*checktest.Master)
	}{
		{"JRubies are stuck", "unhealthy: jruby-stuck", func(m *checktest.Master) {
			stuck := check.Loan{Request: "GET /", Seconds: 600}
			m.SetPool(check.Pool{Size: 1, Borrowed: []check.Loan{stuck}, Waiting: []check.Loan{stuck}})
		}},
		{"not all JRubies have started", "warming: jruby-warming", func(m *checktest.Master) {
			must(t, errors.Join(m.Set(checktest.Stopped), m.Set(checktest.Running)))
			m.SetPool(check.Pool{Size: 4, Free: 1, LockSince: time.Now()})
		}},
		{"the status is an error", "unhealthy: state-error", func(m *checktest.Master) { m.Set(checktest.Error) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, func(c *config.Config) {
				c.Probe.Timeout, c.Probe.Interval = 300*time.Millisecond, 400*time.Millisecond
			})
			r.waitFor(200, answer.Serving)
			r.stop()
			tt.set(r.master)
			r.run()
			r.waitFor(503, tt.said)
			must(t, r.master.Set(checktest.Saturated))
			r.stop()
			r.run()
			if code, body := r.ask("GET / HTTP/1.0\r\n\r\n"); code != 503 {
				t.Errorf("%d %q, want 503", code, body)
			}
		})
	}
}

// A master whose JRubies are stuck answers as well as ever once the requests that waited have given up. A restart of
// the daemon must not take that for a recovery.
func TestRestartKeepsAStuckMasterOutUntilAJRubyComesBack(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *config.Config) {
		c.Probe.Timeout, c.Probe.Interval = 300*time.Millisecond, 400*time.Millisecond
	})
	stuck := check.Loan{Request: "GET /", Seconds: 600}
	alone := check.Pool{Size: 1, Borrowed: []check.Loan{stuck}}
	r.master.SetPool(alone)
	r.waitFor(200, answer.Serving) // a long compile alone is no fault
	r.master.SetPool(check.Pool{Size: 1, Borrowed: []check.Loan{stuck}, Waiting: []check.Loan{stuck}})
	r.waitFor(503, "unhealthy: jruby-stuck")
	r.master.SetPool(alone)
	for range 2 {
		r.stop()
		r.run()
		if code, body := r.ask("GET / HTTP/1.0\r\n\r\n"); code != 503 {
			t.Errorf("%d %q after a restart, want 503", code, body)
		}
	}

	r.master.SetPool(check.Pool{Size: 1, Free: 1})
	r.waitFor(200, answer.Serving)
	r.master.SetPool(alone)
	r.stop()
	r.run()
	r.waitFor(200, answer.Serving)

	r.master.SetPool(check.Pool{Size: 1, Borrowed: []check.Loan{stuck}, Waiting: []check.Loan{stuck}})
	r.waitFor(503, "unhealthy: jruby-stuck")
	r.stop()
	must(t, r.master.Set(checktest.Stopped))
	r.master.SetPool(alone)
	must(t, r.master.Set(checktest.Running)) // another process
	r.run()
	r.waitFor(200, answer.Serving)
}

// A deadlocked JVM accepts, and never answers. A daemon that is restarted for ever must not keep it for ever.
func TestRestartsDoNotProlongTheTimeOfASaturatedMaster(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *config.Config) {
		c.Probe.Timeout = 300 * time.Millisecond
		jruby := c.Checks.JRuby()
		jruby.StuckAfter = 4 * time.Second
		c.Checks = c.Checks.With(jruby)
	})
	r.waitFor(200, answer.Serving)
	answered := time.Now()
	must(t, r.master.Set(checktest.Saturated))
	kept := 0
	for {
		r.stop()
		r.run()
		asked := time.Now()
		code, body := r.ask("GET / HTTP/1.0\r\n\r\n")
		if code == 503 {
			break
		}
		kept++
		if age := asked.Sub(answered); age > 2*r.config.Checks.JRuby().StuckAfter { // a busy machine probes late
			t.Fatalf("%d %q, %s after the last answer", code, body, age)
		}
	}
	if kept < 2 {
		t.Errorf("200 after %d restarts, want 2 at least", kept)
	}
}

// forget replaces what the daemon has saved; "" removes it.
func (r *testDaemon) forget(content string) {
	r.t.Helper()
	file := filepath.Join(r.runtime, "memory.json")
	must(r.t, os.Remove(file))
	if content != "" {
		must(r.t, os.WriteFile(file, []byte(content), 0o600))
	}
}

// edit changes the memory that the daemon has saved of the master.
func (r *testDaemon) edit(change func(map[string]any)) {
	r.t.Helper()
	r.editMemory(func(saved map[string]any) {
		master := saved["master"].(map[string]any)
		change(master["good"].(map[string]any)["server"].(map[string]any))
	})
}

// editMemory changes the memory that the daemon has saved.
func (r *testDaemon) editMemory(change func(map[string]any)) {
	r.t.Helper()
	var saved map[string]any
	data, err := os.ReadFile(filepath.Join(r.runtime, "memory.json"))
	must(r.t, errors.Join(err, json.Unmarshal(data, &saved)))
	change(saved)
	data, err = json.Marshal(saved)
	must(r.t, err)
	r.forget(string(data))
}
