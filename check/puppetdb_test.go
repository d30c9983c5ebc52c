package check_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// newPuppetDB returns the check for a stand-in PuppetDB, on a host with this name.
func newPuppetDB(m *checktest.Master, own, address string) *check.Scheduled {
	all := check.All().With(check.PuppetDBSettings{Address: address})
	host := check.Host{Certname: own, Credentials: &puppetclient.Credentials{Files: m.Files()}}
	return all.Scheduled(host)[check.CheckPuppetDB]
}

func TestPuppetDBIsHealthyDownOrUnknown(t *testing.T) {
	canned := func(status int, body string) func(*checktest.Master) {
		return func(m *checktest.Master) { m.SetResponse("/status/v1/services/puppetdb-status", status, body) }
	}
	state := func(s checktest.State) func(*checktest.Master) { return func(m *checktest.Master) { m.Set(s) } }
	for _, tt := range []struct {
		name   string
		set    func(*checktest.Master)
		reason check.Reason
	}{
		{"healthy", func(m *checktest.Master) { m.SetPuppetDB("running") }, check.OK},
		{"maintenance", func(m *checktest.Master) { m.SetPuppetDB("starting") }, check.PuppetDBDown},
		{"without its database", func(m *checktest.Master) { m.SetPuppetDB("error") }, check.PuppetDBDown},
		{"stopped", state(checktest.Stopped), check.PuppetDBDown},
		{"fails", canned(500, ""), check.PuppetDBDown},
		{"hangs longer than its caller waits", state(checktest.Silent), check.PuppetDBDown},
		{"denied", state(checktest.Denied), check.NotKnown},
		{"no PuppetDB", func(*checktest.Master) {}, check.NotKnown},
		{"an answer that is too long", canned(200, strings.Repeat("g", 5<<20)), check.NotKnown},
		{"running with 503", canned(503, `{"state":"running"}`), check.PuppetDBDown},
		{"no state", canned(200, `{"status":{"read_db_up?":true,"write_db_up?":true}}`), check.NotKnown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			tt.set(m)
			wait := time.Minute
			if strings.HasPrefix(tt.name, "hangs") {
				wait = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			got := newPuppetDB(m, certname, m.Address()).Run(ctx)
			want := map[check.Reason]check.State{check.OK: check.StateOK, check.NotKnown: check.StateNone}[tt.reason]
			if want == "" {
				want = check.StateBad
			}
			fine := want == check.StateOK
			if got.State != want || got.Reason != tt.reason || got.Health != "" || (got.Detail == "") != fine {
				t.Errorf("%+v; want %s, %s", got, want, tt.reason)
			}
		})
	}
}

// TestPuppetDBHasTheNameOfItsAddress: the certificate of a PuppetDB beside the master is the host's
// own. The stand-in listens on 127.0.0.1 with the certificate of certname.
func TestPuppetDBHasTheNameOfItsAddress(t *testing.T) {
	m := newMaster(t)
	m.SetPuppetDB("running")
	_, port, _ := net.SplitHostPort(m.Address())
	for _, tt := range []struct {
		name, host, own string
		reason          check.Reason
	}{
		{"localhost", "localhost", certname, check.OK},
		{"a loopback address", "127.0.0.1", certname, check.OK},
		{"a host of another name", "localhost", "puppet2.example.test", check.PuppetDBName},
		{"a host named localhost", "localhost", "localhost", check.PuppetDBName},
	} {
		puppetdb := newPuppetDB(m, tt.own, net.JoinHostPort(tt.host, port))
		if got := puppetdb.Run(t.Context()); got.Reason != tt.reason {
			t.Errorf("%s: %s, %q; want %s", tt.name, got.Reason, got.Detail, tt.reason)
		}
	}
}

func TestPuppetDBIsAskedAgainAfterALostConnection(t *testing.T) {
	m := newMaster(t)
	m.SetPuppetDB("running")
	puppetdb := newPuppetDB(m, certname, m.Address())
	for range 2 {
		if got := puppetdb.Run(t.Context()); got.State != check.StateOK || got.Value != "running" {
			t.Errorf("%s, %q, %s", got.State, got.Value, got.Detail)
		}
		m.Set(checktest.Stopped)
		m.Set(checktest.Running)
	}
}
