package check_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

const certname = "puppet1.example.test"

func newMaster(t *testing.T) *checktest.Master {
	t.Helper()
	m, err := checktest.NewMaster(t.TempDir(), certname, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func newProber(t *testing.T, m *checktest.Master) *check.Prober {
	t.Helper()
	p := &check.Prober{Client: puppetclient.Client{
		Address:     m.Address(),
		ServerName:  m.Name,
		Credentials: &puppetclient.Credentials{Files: m.Files()},
		Timeout:     5 * time.Second,
	}}
	t.Cleanup(p.Close)
	return p
}

// wantReason fails the test unless the probe ended with the reason.
func wantReason(t *testing.T, r check.Result, want check.Reason) {
	t.Helper()
	got := check.OK
	if r.Fault != nil {
		got = r.Fault.Reason
	}
	if got != want {
		t.Fatalf("reason %s, want %s (fault: %v)", got, want, r.Fault)
	}
}

func TestProbeFindsTheReasonOfEachState(t *testing.T) {
	tests := []struct {
		state checktest.State
		want  check.Reason
		side  check.Side
	}{
		{checktest.Running, check.OK, check.SideServer},
		{checktest.Starting, check.StateStarting, check.SideServer},
		{checktest.Stopping, check.StateStopping, check.SideServer},
		{checktest.Error, check.StateError, check.SideServer},
		{checktest.Denied, check.AuthDenied, check.SideAuth},
		{checktest.Garbage, check.BadAnswer, check.SideServer},
		{checktest.Failing, check.HTTPError, check.SideServer},
		{checktest.Flood, check.BadAnswer, check.SideServer},
		{checktest.Drip, check.Timeout, check.SideNetwork},
		{checktest.Silent, check.Timeout, check.SideNetwork},
		{checktest.Saturated, check.Timeout, check.SideNetwork},
		{checktest.Stopped, check.Refused, check.SideNetwork},
	}
	m := newMaster(t)
	p := newProber(t, m)
	for _, tt := range tests {
		t.Run(string(tt.state), func(t *testing.T) {
			if err := m.Set(tt.state); err != nil {
				t.Fatal(err)
			}
			p.Wait = 5 * time.Second
			if tt.want == check.Timeout {
				p.Wait = 100 * time.Millisecond
			}
			r := p.Probe(context.Background())
			wantReason(t, r, tt.want)
			if r.Fault != nil && r.Fault.Reason.Side() != tt.side {
				t.Errorf("side %s, want %s", r.Fault.Reason.Side(), tt.side)
			}
		})
	}
	if err := m.Set(checktest.Running); err != nil {
		t.Fatal(err)
	}
	wantReason(t, p.Probe(context.Background()), check.OK)
}

func TestResultDescribesTheConnection(t *testing.T) {
	m := newMaster(t)
	r := newProber(t, m).Probe(context.Background())
	wantReason(t, r, check.OK)
	if r.TLS == nil || r.TLS.Version != "TLS 1.3" || r.TLS.Server.Subject != certname {
		t.Errorf("TLS is %+v, want TLS 1.3 with %s", r.TLS, certname)
	}
	if r.Own == nil || r.Own.Serial != m.Leaf.Certificate.SerialNumber.Text(16) {
		t.Errorf("own certificate is %+v", r.Own)
	}
	want := "https://" + m.Address() + "/status/v1/services/jruby-metrics?level=debug"
	if r.URL != want || r.Status != 200 {
		t.Errorf("asked %s and got %d, want %s and 200", r.URL, r.Status, want)
	}
	if !r.Handshake || len(r.CRLs) != 1 || len(r.CAs) != 1 || r.Took <= 0 {
		t.Errorf("handshake %v, CRLs %v, CAs %v, took %v", r.Handshake, r.CRLs, r.CAs, r.Took)
	}
}

func TestEachGenerationIsFoundAndRemembered(t *testing.T) {
	for _, api := range []check.API{
		check.APIPool, check.APISimpleServer, check.APISimpleMaster, check.APIPuppetV3, check.APIPuppet3,
	} {
		t.Run(string(api), func(t *testing.T) {
			m := newMaster(t)
			m.SetAPI(api)
			p := newProber(t, m)
			r := p.Probe(context.Background())
			wantReason(t, r, check.OK)
			if r.API != api {
				t.Errorf("found %s, want %s", r.API, api)
			}
			before := m.Questions()
			wantReason(t, p.Probe(context.Background()), check.OK)
			if asked := m.Questions() - before; asked != 1 {
				t.Errorf("the second probe asked %d questions, want 1", asked)
			}
			m.SetAPI(check.APIPool) // upgraded
			m.Set(checktest.Stopped)
			wantReason(t, p.Probe(context.Background()), check.Refused)
			m.Set(checktest.Running)
			if r := p.Probe(context.Background()); r.Fault != nil || r.Pool == nil {
				t.Errorf("after an upgrade: %v, pool %v", r.Fault, r.Pool)
			}
		})
	}
}

func TestDenialIsNotRepeatedForEveryGeneration(t *testing.T) {
	m := newMaster(t)
	m.Set(checktest.Denied)
	p := newProber(t, m)
	wantReason(t, p.Probe(context.Background()), check.AuthDenied)
	before := m.Questions()
	wantReason(t, p.Probe(context.Background()), check.AuthDenied)
	if asked := m.Questions() - before; asked != 1 {
		t.Errorf("the second probe asked %d questions, want 1: the server logs each as an error", asked)
	}
}

func TestConnectionIsKeptAndRenewed(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	for range 10 {
		wantReason(t, p.Probe(context.Background()), check.OK)
	}
	if ends := p.Local(); len(ends) != 1 || !ends[0].Addr().IsLoopback() {
		t.Errorf("local addresses %v, want one", ends)
	}
	if got := m.Handshakes(); got != 1 {
		t.Errorf("10 probes made %d handshakes, want 1", got)
	}
	p.Handshake = time.Nanosecond
	for range 3 {
		if r := p.Probe(context.Background()); !r.Handshake {
			t.Errorf("an old connection was kept")
		}
	}
	p.Close()
	if ends := p.Local(); len(ends) != 0 {
		t.Errorf("local addresses %v after Close, want none", ends)
	}
	if got := m.Handshakes(); got != 4 {
		t.Errorf("%d handshakes, want 4", got)
	}
}

func TestLostConnectionIsReported(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	lost := make(chan struct{}, 1)
	p.Lost = func() { lost <- struct{}{} }
	wantReason(t, p.Probe(context.Background()), check.OK)
	m.Set(checktest.Stopped)
	select {
	case <-lost:
	case <-time.After(10 * time.Second):
		t.Fatal("Lost was not called although the server closed the kept connection")
	}
	wantReason(t, p.Probe(context.Background()), check.Refused)
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPendingRequestIsAnsweredLater: a probe leaves its request pending, and the next one waits for
// the same answer.
func TestPendingRequestIsAnsweredLater(t *testing.T) {
	for _, tt := range []struct {
		name    string
		accepts bool
		err     error
		want    check.Silence
	}{
		{"saturated", true, nil, check.Saturated},
		{"stopped", false, nil, check.Halted},
		{"on another host", false, errors.New("not known"), check.Unexplained},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			p := newProber(t, m)
			p.Timeout, p.Wait = 20*time.Second, time.Second
			p.Accepts = func(context.Context) (bool, error) { return tt.accepts, tt.err }
			wantReason(t, p.Probe(t.Context()), check.OK)
			before := m.Questions()
			m.Set(checktest.Saturated)
			for range 2 {
				r := p.Probe(t.Context())
				if wantReason(t, r, check.Timeout); r.Silence != tt.want || r.Own == nil || r.Pool != nil {
					t.Errorf("silence %v, own %v, pool %v; want %v, the last certificate, none", r.Silence, r.Own, r.Pool, tt.want)
				}
			}
			m.Set(checktest.Running)
			wantReason(t, p.Probe(t.Context()), check.OK)
			if asked := m.Questions() - before; asked != 1 {
				t.Errorf("asked %d questions, want one that was pending", asked)
			}
			m.Set(checktest.Saturated)
			p.Probe(t.Context())
			m.Set(checktest.Stopped)
			wantReason(t, p.Probe(t.Context()), check.Refused) // at once: not the end of the pending request
		})
	}
}

// TestPlainHTTPBehindATLSOffload: only for a master on this host.
func TestPlainHTTPBehindATLSOffload(t *testing.T) {
	m := newMaster(t)
	offloaded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/status/v1/services/jruby-metrics" || r.Host != certname {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, `{"state":"running"}`)
	}))
	p := newProber(t, m)
	p.Address = offloaded.URL
	for _, handshake := range []bool{true, false} {
		r := p.Probe(t.Context())
		wantReason(t, r, check.OK)
		if r.TLS != nil || r.Anonymous != nil || r.Warning != nil || r.Handshake != handshake || len(p.Local()) != 1 {
			t.Errorf("%+v, connections %v", r, p.Local())
		}
	}
	offloaded.Close()
	wantReason(t, p.Probe(t.Context()), check.Refused)
}
