package check_test

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
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
	p := &check.Prober{Client: check.Client{
		Address:     m.Address(),
		ServerName:  m.Name,
		Credentials: &check.Credentials{Files: m.Files()},
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

func TestProbeOfEachState(t *testing.T) {
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
		{checktest.Stopped, check.Refused, check.SideNetwork},
	}
	m := newMaster(t)
	p := newProber(t, m)
	for _, tt := range tests {
		t.Run(string(tt.state), func(t *testing.T) {
			if err := m.Set(tt.state); err != nil {
				t.Fatal(err)
			}
			p.Timeout = 5 * time.Second
			if tt.want == check.Timeout {
				p.Timeout = 100 * time.Millisecond
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

func TestProbeSaysWhatItSaw(t *testing.T) {
	m := newMaster(t)
	r := newProber(t, m).Probe(context.Background())
	wantReason(t, r, check.OK)
	if r.TLS == nil || r.TLS.Version != "TLS 1.3" || r.TLS.Server.Subject != certname {
		t.Errorf("TLS is %+v, want TLS 1.3 with %s", r.TLS, certname)
	}
	if r.Own == nil || r.Own.Serial != m.Leaf.Certificate.SerialNumber.Text(16) {
		t.Errorf("own certificate is %+v", r.Own)
	}
	if want := "https://" + m.Address() + "/status/v1/simple/server"; r.URL != want || r.Status != 200 {
		t.Errorf("asked %s and got %d, want %s and 200", r.URL, r.Status, want)
	}
	if !r.Handshake || len(r.CRLs) != 1 || len(r.CAs) != 1 || r.Took <= 0 {
		t.Errorf("handshake %v, CRLs %v, CAs %v, took %v", r.Handshake, r.CRLs, r.CAs, r.Took)
	}
}

func TestEachGenerationIsFoundAndRemembered(t *testing.T) {
	for _, api := range []check.API{check.APISimpleServer, check.APISimpleMaster, check.APIPuppetV3, check.APIPuppet3} {
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
			m.SetAPI(check.APISimpleServer) // upgraded
			wantReason(t, p.Probe(context.Background()), check.OK)
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
		t.Errorf("our ends are %v, want one", ends)
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
		t.Errorf("our ends are %v after Close", ends)
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
		t.Fatal("the end of the kept connection went unnoticed")
	}
	wantReason(t, p.Probe(context.Background()), check.Refused)
}

func TestOwnCertificateIsJudged(t *testing.T) {
	other, err := checktest.NewCA("Somebody else")
	if err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour
	tests := []struct {
		name     string
		template checktest.Template
		issuer   func(*checktest.Master) *checktest.CA
		revoke   bool
		want     check.Reason
	}{
		{name: "good", template: checktest.Template{Name: "agent"}, want: check.OK},
		{name: "expired", template: checktest.Template{Name: "agent", NotBefore: time.Now().Add(-2 * day), NotAfter: time.Now().Add(-day)}, want: check.OwnCertExpired},
		{name: "not yet valid", template: checktest.Template{Name: "agent", NotBefore: time.Now().Add(day), NotAfter: time.Now().Add(2 * day)}, want: check.OwnCertNotYetValid},
		{name: "of another CA", template: checktest.Template{Name: "agent"}, issuer: func(*checktest.Master) *checktest.CA { return other }, want: check.OwnCertForeign},
		{name: "revoked", template: checktest.Template{Name: "agent"}, revoke: true, want: check.OwnCertRevoked},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			ca := m.CA
			if tt.issuer != nil {
				ca = tt.issuer(m)
			}
			leaf, err := ca.Issue(tt.template)
			if err != nil {
				t.Fatal(err)
			}
			if tt.revoke {
				ca.Revoke(leaf.Certificate)
			}
			if err := m.WriteFiles(); err != nil {
				t.Fatal(err)
			}
			if err := m.Load(); err != nil {
				t.Fatal(err)
			}
			key, err := leaf.KeyPEM()
			if err != nil {
				t.Fatal(err)
			}
			write(t, m.Files().Certificate, leaf.CertificatePEM())
			write(t, m.Files().Key, key)
			r := newProber(t, m).Probe(context.Background())
			wantReason(t, r, tt.want)
			if r.Fault != nil && r.Fault.Health() != check.Unknown {
				t.Errorf("health %s: a fault of ours says nothing of the master", r.Fault.Health())
			}
		})
	}
}

func TestExpiredCRLInTheServerOnly(t *testing.T) {
	m := newMaster(t)
	expired, err := m.CA.CRL(time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(m.Files().CRL)
	if err != nil {
		t.Fatal(err)
	}
	p := newProber(t, m)

	write(t, m.Files().CRL, expired)
	m.Load()
	r := p.Probe(context.Background())
	wantReason(t, r, check.CRLExpired)
	if !strings.Contains(r.Fault.Error(), m.CA.Certificate.Subject.CommonName) {
		t.Errorf("the fault does not name the CRL: %v", r.Fault)
	}

	write(t, m.Files().CRL, good) // ours is good again, the server's is not
	wantReason(t, p.Probe(context.Background()), check.OwnCertRefused)
	m.Load()
	wantReason(t, p.Probe(context.Background()), check.OK)
}

func TestHostileServers(t *testing.T) {
	tests := []struct {
		name string
		talk func(net.Conn)
		want check.Reason
	}{
		{"closes at once", func(net.Conn) {}, check.ConnectionLost},
		{"not TLS", func(c net.Conn) { c.Write([]byte("SSH-2.0-OpenSSH_9.2p1\r\n")) }, check.TLSFailed},
		{"accepts and is silent", func(c net.Conn) { c.Read(make([]byte, 1)); hang(c) }, check.Timeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newProber(t, newMaster(t))
			p.Address = listen(t, tt.talk)
			p.Timeout = 300 * time.Millisecond
			wantReason(t, p.Probe(context.Background()), tt.want)
		})
	}
}

func TestNameThatDoesNotResolve(t *testing.T) {
	p := newProber(t, newMaster(t))
	p.Address = "master.invalid:8140"
	r := p.Probe(context.Background())
	wantReason(t, r, check.NameLookup)
}

// listen serves each connection with talk and closes it then.
func listen(t *testing.T, talk func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); talk(c) }()
		}
	}()
	return l.Addr().String()
}

// hang waits until the other side is gone.
func hang(c net.Conn) {
	for b := make([]byte, 4096); ; {
		if _, err := c.Read(b); err != nil {
			return
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
