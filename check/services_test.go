package check_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

func TestServiceIsAskedByName(t *testing.T) {
	m := newMaster(t)
	m.SetService("broker-service", "error")
	tests := []struct {
		name  string
		state string // to be set first
		want  check.Reason
	}{
		{"ca", "", check.OK},
		{"ca", "stopping", check.StateStopping},
		{"broker-service", "", check.StateError},
		{"broker-service", "running", check.OK},
		{"broker-service", "starting", check.StateStarting},
		{"broker-service", "unknown", check.StateUnknown},
		{"no-such-service", "", check.ServiceNotFound},
		{"../services", "", check.ServiceNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.state, func(t *testing.T) {
			if tt.state != "" {
				m.SetService(tt.name, tt.state)
			}
			p := newProber(t, m)
			p.Service = tt.name
			before := m.Questions()
			wantReason(t, p.Probe(context.Background()), tt.want)
			if asked := m.Questions() - before; asked != 1 {
				t.Errorf("asked %d questions, want 1: a service has no generations", asked)
			}
		})
	}
}

func TestRemovedServiceIsNotFound(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	p.Service = "ca"
	m.SetService("ca", "")
	r := p.Probe(context.Background())
	wantReason(t, r, check.ServiceNotFound)
	if r.Fault.Health() != check.Unhealthy {
		t.Errorf("%s, want unhealthy", r.Fault.Health())
	}
	m.Set(checktest.Denied)
	wantReason(t, p.Probe(context.Background()), check.AuthDenied)
}

func TestPuppetDBIsHealthyDownOrUnknown(t *testing.T) {
	const path = "/status/v1/services/puppetdb-status"
	canned := func(status int, body string) func(*checktest.Master) {
		return func(m *checktest.Master) { m.SetAnswer(path, status, body) }
	}
	state := func(s checktest.State) func(*checktest.Master) { return func(m *checktest.Master) { m.Set(s) } }
	puppetdb := func(maintenance, read, write bool) func(*checktest.Master) {
		return func(m *checktest.Master) { m.SetPuppetDB(maintenance, read, write) }
	}
	tests := []struct {
		name   string
		set    func(*checktest.Master)
		want   check.State
		reason check.Reason
	}{
		{"healthy", puppetdb(false, true, true), check.StateOK, check.OK},
		{"maintenance", puppetdb(true, true, true), check.StateBad, check.PuppetDBMaintained},
		{"cannot read", puppetdb(false, false, true), check.StateBad, check.PuppetDBDown},
		{"cannot write", puppetdb(false, true, false), check.StateBad, check.PuppetDBDown},
		{"stopped", state(checktest.Stopped), check.StateBad, check.PuppetDBDown},
		{"hangs", state(checktest.Silent), check.StateBad, check.PuppetDBDown},
		{"fails", state(checktest.Failing), check.StateBad, check.PuppetDBDown},
		{"denied", state(checktest.Denied), check.StateNone, check.NotKnown},
		{"no PuppetDB", func(*checktest.Master) {}, check.StateNone, check.NotKnown},
		{"a web page", state(checktest.Garbage), check.StateNone, check.NotKnown},
		{"an answer that is too long", state(checktest.Flood), check.StateNone, check.NotKnown},
		{"old, without flags", canned(200, `{"state":"running","status":{"maintenance_mode?":false}}`), check.StateOK,
			check.OK},
		{"running with 503", canned(503, `{"state":"running"}`), check.StateBad, check.PuppetDBDown},
		{"a flag contradicts", canned(200, `{"state":"running","status":{"write_db_up?":false}}`), check.StateBad,
			check.PuppetDBDown},
		{"no state", canned(200, `{"status":{"read_db_up?":true,"write_db_up?":true}}`), check.StateNone, check.NotKnown},
		{"flags as strings", canned(200, `{"state":"running","status":{"read_db_up?":"true"}}`), check.StateNone,
			check.NotKnown},
		{"queue as a string", canned(200, `{"state":"running","status":{"queue_depth":"0"}}`), check.StateNone,
			check.NotKnown},
		{"truncated", canned(200, `{"state":"running","status":{"read_db_`), check.StateNone, check.NotKnown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			tt.set(m)
			puppetdb := newPuppetDB(t, m)
			if m.State() == checktest.Silent {
				puppetdb.Client.Timeout = 100 * time.Millisecond
			}
			got := puppetdb.Check(context.Background())
			if got.State != tt.want || got.Reason != tt.reason {
				t.Fatalf("%s, %s; want %s, %s (%s)", got.State, got.Reason, tt.want, tt.reason, got.Detail)
			}
			if got.Health != "" || (got.Detail == "") != (got.State == check.StateOK) {
				t.Errorf("health %q, detail %q", got.Health, got.Detail)
			}
		})
	}
}

// The certificate of a PuppetDB beside the master is the host's own. The stand-in
// listens on 127.0.0.1 with the certificate of certname.
func TestPuppetDBOnThisHostHasItsCertname(t *testing.T) {
	for _, tt := range []struct {
		name, address, own string
		reason             check.Reason
	}{
		{"localhost", "localhost", certname, check.OK},
		{"a loopback address", "127.0.0.1", certname, check.OK},
		{"a host of another name", "localhost", "puppet2.example.test", check.PuppetDBName},
		{"a host named localhost", "localhost", "localhost", check.PuppetDBName},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			m.SetPuppetDB(false, true, true)
			_, port, err := net.SplitHostPort(m.Address())
			if err != nil {
				t.Fatal(err)
			}
			host := hostOf(m)
			host.Certname = tt.own
			puppetdb := scheduleOn(t, host, func(s *check.PuppetDBSettings) {
				s.Address = net.JoinHostPort(tt.address, port)
			})
			if got := puppetdb.Check(context.Background()); got.Reason != tt.reason {
				t.Errorf("%s, %q; want %s", got.Reason, got.Detail, tt.reason)
			}
		})
	}
}

func TestPuppetDBCertnameIsTheHostOfTheAddress(t *testing.T) {
	for host, want := range map[string]string{
		"puppetdb.example.test":  "puppetdb.example.test",
		"192.0.2.3":              "192.0.2.3",
		"localhost":              certname,
		"127.0.1.1":              certname,
		"::1":                    certname,
		"localhost.example.test": "localhost.example.test",
	} {
		puppetdb := schedule(t, nil, func(s *check.PuppetDBSettings) { s.Address = net.JoinHostPort(host, "8081") })
		if got := puppetdb.Client.ServerName; got != want {
			t.Errorf("%s: the certificate of %s is wanted, want %s", host, got, want)
		}
	}
}

func TestPuppetDBIsAskedAgainAfterALostConnection(t *testing.T) {
	m := newMaster(t)
	m.SetPuppetDB(false, true, true)
	puppetdb := newPuppetDB(t, m)
	for range 3 {
		if got := puppetdb.Check(context.Background()); got.State != check.StateOK || got.Value != "running, queue depth 0" {
			t.Errorf("%s, %q, %s", got.State, got.Value, got.Detail)
		}
		m.Set(checktest.Stopped)
		m.Set(checktest.Running)
	}
}

// schedule returns the check that has settings of type T, after change has been applied
// to them, ready to run against m.
func schedule[T any](t *testing.T, m *checktest.Master, change func(*T)) *check.Scheduled {
	t.Helper()
	return scheduleOn(t, hostOf(m), change)
}

// hostOf returns the host of a master; m may be nil.
func hostOf(m *checktest.Master) check.Host {
	host := check.Host{Certname: certname, Timeout: 5 * time.Second}
	if m != nil {
		host.Address, host.Certname = m.Address(), m.Name
		host.Credentials = &puppetclient.Credentials{Files: m.Files()}
	}
	return host
}

// scheduleOn is schedule for a host.
func scheduleOn[T any](t *testing.T, host check.Host, change func(*T)) *check.Scheduled {
	t.Helper()
	settings := new(T)
	for _, c := range check.All() {
		var is bool
		if settings, is = c.Settings.(*T); !is {
			continue
		}
		change(settings)
		s := c.Schedule(host)
		if s.Client != nil {
			t.Cleanup(s.Client.Close)
		}
		return s
	}
	t.Fatalf("no check has settings of type %T", settings)
	return nil
}

func newPuppetDB(t *testing.T, m *checktest.Master) *check.Scheduled {
	t.Helper()
	return schedule(t, m, func(s *check.PuppetDBSettings) { s.Address = m.Address() })
}
