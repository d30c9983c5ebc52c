package check_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

const pool = "puppet.example.test" // another name of the master that agents use

// TestADenialByAuthConfIsNoFault: agents are served by a master whose auth.conf denies the Status API, and masters
// share the file. Any other 403, and a denial beside another doubt, leaves the master unknown.
func TestADenialByAuthConfIsNoFault(t *testing.T) {
	const status = "/status/v1/"
	deny := func(m *checktest.Master, paths ...string) {
		for _, path := range paths {
			m.SetResponse(path, 403, "Forbidden request: "+path+" (method :get). Please see the server logs for details.")
		}
	}
	everything := []string{status + "services/jruby-metrics", status + "services/pe-jruby-metrics",
		status + "simple/server", status + "simple/master", status + "simple"}
	older := []string{"/puppet/v3/status/pmcheck", "/production/status/no_key"}
	but := func(path string) []string {
		return slices.DeleteFunc(slices.Clone(everything), func(p string) bool { return p == path })
	}
	for _, tt := range []struct {
		name   string
		set    func(*checktest.Master, *check.Prober)
		want   check.Reason
		denied bool
	}{
		{"as Puppet Server 7.9.5 and 8.7.0 do", func(m *checktest.Master, _ *check.Prober) {
			m.Set(checktest.Denied)
		}, check.OK, true},
		{"every path of every generation", func(m *checktest.Master, _ *check.Prober) {
			deny(m, slices.Concat(everything, older)...)
		}, check.OK, true},
		{"with TLS 1.2", func(m *checktest.Master, _ *check.Prober) {
			m.Set(checktest.Denied)
			m.SetTLS(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 })
		}, check.OK, true},
		{"no revocation is configured", func(m *checktest.Master, p *check.Prober) {
			m.Set(checktest.Denied)
			os.Remove(m.Files().CRL)
			p.Credentials.Files.Revocation = puppetclient.RevocationOff
		}, check.OK, true},
		{"the simple status is allowed", func(m *checktest.Master, _ *check.Prober) {
			deny(m, everything[:2]...)
		}, check.OK, false},
		{"an older generation is allowed", func(m *checktest.Master, _ *check.Prober) {
			deny(m, everything...)
			m.SetResponse(older[0], 200, `{"is_alive":true,"version":"5.5.22"}`)
		}, check.OK, false},

		{"our key is missing", func(m *checktest.Master, _ *check.Prober) {
			m.Set(checktest.Denied)
			os.Remove(m.Files().Key)
		}, check.AuthDenied, false},
		{"our certificate has expired", func(m *checktest.Master, _ *check.Prober) {
			m.Set(checktest.Denied)
			install(t, m, must(m.CA.Issue(expired)))
		}, check.AuthDenied, false},
		{"our certificate is not asked for", func(m *checktest.Master, _ *check.Prober) {
			m.Set(checktest.Denied)
			m.SetTLS(func(c *tls.Config) { c.ClientAuth = tls.NoClientCert })
		}, check.AuthDenied, false},
		{"the CA is missing", func(m *checktest.Master, _ *check.Prober) {
			m.Set(checktest.Denied)
			os.Remove(m.Files().CA)
		}, check.AuthDenied, false},
		{"half of the CRL is missing", func(m *checktest.Master, _ *check.Prober) {
			m.Set(checktest.Denied)
			os.Truncate(m.Files().CRL, 100)
		}, check.AuthDenied, false},
		{"the master's certificate has another name that agents use", func(m *checktest.Master, p *check.Prober) {
			m.Set(checktest.Denied)
			own := m.Leaf
			serve(t, m, must(m.CA.Issue(checktest.Template{Name: pool})))
			install(t, m, own)
			p.Names = []string{pool}
		}, check.AuthDenied, false},
		{"plain HTTP", func(m *checktest.Master, p *check.Prober) {
			m.Set(checktest.Denied)
			offloaded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(403)
				io.WriteString(w, "Forbidden request: "+r.URL.Path)
			}))
			t.Cleanup(offloaded.Close)
			p.Address = offloaded.URL
		}, check.AuthDenied, false},
		{"another program", func(m *checktest.Master, _ *check.Prober) {
			for _, path := range everything {
				m.SetResponse(path, 403, "<h1>403 Forbidden</h1>")
			}
		}, check.AuthDenied, false},
		{"one path is answered by another program", func(m *checktest.Master, _ *check.Prober) {
			deny(m, but(status+"simple")...)
			m.SetResponse(status+"simple", 403, "Forbidden")
		}, check.AuthDenied, false},
		{"one path is missing", func(m *checktest.Master, _ *check.Prober) {
			deny(m, but(status+"simple/master")...)
			m.SetResponse(status+"simple/master", 404, "")
		}, check.AuthDenied, false},
		{"one path fails", func(m *checktest.Master, _ *check.Prober) {
			deny(m, but(status+"simple")...)
			m.SetResponse(status+"simple", 500, "")
		}, check.HTTPError, false},
		{"the master says that it fails", func(m *checktest.Master, _ *check.Prober) {
			deny(m, but(status+"simple/server")...)
			m.SetResponse(status+"simple/server", 503, "error")
		}, check.StateError, false},
		{"a service beside the master, which may not be there", func(m *checktest.Master, p *check.Prober) {
			m.Set(checktest.Denied)
			p.Service = "ca"
		}, check.AuthDenied, false},
		{"CRL expired: the master refuses every agent", func(m *checktest.Master, _ *check.Prober) {
			m.Set(checktest.Denied)
			fresh := must(os.ReadFile(m.Files().CRL))
			write(t, m.Files().CRL, must(m.CA.CRL(past)))
			m.Load()
			write(t, m.Files().CRL, fresh)
		}, puppetclient.OwnCertRefused, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			p := newProber(t, m)
			tt.set(m, p)
			for range 3 { // the first searches
				r := p.Probe(t.Context())
				wantReason(t, r, tt.want)
				if (r.Denied != nil) != tt.denied || tt.denied && (r.Pool != nil || !r.Doubted()) {
					t.Errorf("denied %v, pool %v, doubted %v", r.Denied, r.Pool, r.Doubted())
				}
			}
		})
	}
}

// TestADenialIsAskedForAgainOnceBothSidesAreProved: a daemon that starts while its key is missing concludes nothing
// from the denials that it gets, and concludes it when the key is back.
func TestADenialIsAskedForAgainOnceBothSidesAreProved(t *testing.T) {
	m := newMaster(t)
	m.Set(checktest.Denied)
	p := newProber(t, m)
	key := must(os.ReadFile(m.Files().Key))
	if err := os.Remove(m.Files().Key); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wantReason(t, p.Probe(t.Context()), check.AuthDenied)
	}
	asked := m.Questions()
	wantReason(t, p.Probe(t.Context()), check.AuthDenied)
	if n := m.Questions() - asked; n != 1 {
		t.Errorf("%d questions while nothing has changed, want 1", n)
	}

	write(t, m.Files().Key, key)
	wantReason(t, p.Probe(t.Context()), check.OK)
}

// TestADenialOfAStartingMasterIsAskedForAgain: Puppet Server listens before its Status API is there. Until then its
// paths are missing, whatever auth.conf says of them.
func TestADenialOfAStartingMasterIsAskedForAgain(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	m.Set(checktest.Denied)
	wantReason(t, p.Probe(t.Context()), check.OK)
	m.Set(checktest.Stopped)
	wantReason(t, p.Probe(t.Context()), puppetclient.Refused)

	const status = "/status/v1/"
	for _, early := range []string{"services/jruby-metrics", "services/pe-jruby-metrics", "simple/server"} {
		m.SetResponse(status+early, 404, "")
	}
	for _, late := range []string{"simple/master", "simple"} {
		m.SetResponse(status+late, 403, "Forbidden request: "+status+late)
	}
	m.Set(checktest.Running)
	wantReason(t, p.Probe(t.Context()), check.AuthDenied)
	m.Set(checktest.Denied)
	r := p.Probe(t.Context())
	if wantReason(t, r, check.OK); r.Denied == nil {
		t.Error("the master denies the status, and it is not seen")
	}
	wantQuestions(t, m, 1, func() { wantReason(t, p.Probe(t.Context()), check.OK) })

	// A master that stays like this is not asked everything at each probe: it logs each denial as an error.
	m.Set(checktest.Stopped)
	wantReason(t, p.Probe(t.Context()), puppetclient.Refused)
	m.Set(checktest.Running)
	for range 2 {
		wantReason(t, p.Probe(t.Context()), check.AuthDenied)
	}
	wantQuestions(t, m, 1, func() { wantReason(t, p.Probe(t.Context()), check.AuthDenied) })
}

// TestADenialEndsWithWhatProvedIt: what pmcheck concluded from all questions at once is not believed of one response.
func TestADenialEndsWithWhatProvedIt(t *testing.T) {
	m := newMaster(t)
	m.Set(checktest.Denied)
	p := newProber(t, m)
	wantReason(t, p.Probe(t.Context()), check.OK)
	key := must(os.ReadFile(m.Files().Key))
	install(t, m, must(m.CA.Issue(expired)))
	wantReason(t, p.Probe(t.Context()), check.AuthDenied)
	install(t, m, m.Leaf)
	write(t, m.Files().Key, key)
	wantReason(t, p.Probe(t.Context()), check.OK)

	m.Set(checktest.Silent)
	p.Wait = 50 * time.Millisecond
	p.Accepts = func(context.Context) (bool, error) { return false, nil }
	if r := p.Probe(t.Context()); r.Denied != nil {
		t.Error("a master that does not answer denies the status")
	} else {
		wantReason(t, r, puppetclient.Timeout)
	}
	m.Set(checktest.Stopped)
	p.Wait = 5 * time.Second
	wantReason(t, p.Probe(t.Context()), puppetclient.Refused)
	m.Set(checktest.Running)
	if r := p.Probe(t.Context()); r.Fault != nil || r.Denied != nil || r.Pool == nil {
		t.Errorf("after a restart with the rules: %v, denied %v, pool %v", r.Fault, r.Denied, r.Pool)
	}
}

// TestADenialIsAWarningOfTheJRubies: it says what is not seen, and takes nothing out.
func TestADenialIsAWarningOfTheJRubies(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	observe := check.All().Observers(new(check.Seen))[check.CheckJRuby]
	if f := observe(p.Probe(t.Context()), time.Now()); f.Pool == nil {
		t.Fatalf("%+v, want a pool", f)
	}
	m.Set(checktest.Denied)
	f := observe(p.Probe(t.Context()), time.Now())
	if f.State != check.StateWarn || f.Reason != check.AuthDenied || f.Health != "" || f.Pool != nil {
		t.Errorf("%+v, want a warning without a pool", f)
	}
	for _, unseen := range []string{"start", "stuck", "which requests hold them"} {
		if !strings.Contains(f.Detail, unseen) {
			t.Errorf("%q does not say %q", f.Detail, unseen)
		}
	}
}

// TestTLSThatAgentsAcceptIsAccepted, of which OpenSSL, and so an agent, offers everything but RC4 and 3DES.
func TestTLSThatAgentsAcceptIsAccepted(t *testing.T) {
	suites := func(ids ...uint16) func(*tls.Config) {
		return func(c *tls.Config) { c.MaxVersion, c.CipherSuites = tls.VersionTLS12, ids }
	}
	const failed = puppetclient.TLSFailed
	for _, tt := range []struct {
		name string
		rsa  bool // as Puppet's keys are
		set  func(*tls.Config)
		want check.Reason
		says string
	}{
		{"RSA key exchange, GCM", true, suites(tls.TLS_RSA_WITH_AES_128_GCM_SHA256), check.OK, ""},
		{"RSA key exchange, CBC", true, suites(tls.TLS_RSA_WITH_AES_256_CBC_SHA), check.OK, ""},
		{"the Foreman's suites that Go has", true, suites(tls.TLS_RSA_WITH_AES_256_CBC_SHA,
			tls.TLS_RSA_WITH_AES_128_CBC_SHA256, tls.TLS_RSA_WITH_AES_128_CBC_SHA), check.OK, ""},
		{"ECDHE, CBC with SHA-256", true, suites(tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256), check.OK, ""},
		{"ECDHE, CBC with SHA-1", true, suites(tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA), check.OK, ""},
		{"an ECDSA key, CBC", false, suites(tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256), check.OK, ""},
		{"ChaCha20", true, suites(tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256), check.OK, ""},
		{"TLS 1.3 alone", true, func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }, check.OK, ""},
		{"P-521 alone", true, func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.CurveP521} }, check.OK, ""},
		{"an RSA key, 3DES", true, suites(tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA), failed, "handshake failure"},
		{"an RSA key, RC4", true, suites(tls.TLS_RSA_WITH_RC4_128_SHA), failed, "handshake failure"},
		{"TLS 1.1", true, func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, failed,
			"protocol version"},
		{"our certificate is refused", true, func(c *tls.Config) {
			c.ClientAuth, c.VerifyPeerCertificate = tls.RequireAndVerifyClientCert, nil
			c.ClientCAs = nil
		}, puppetclient.OwnCertRefused, "certificate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			serve(t, m, must(m.CA.Issue(checktest.Template{Name: certname, RSA: tt.rsa})))
			m.SetTLS(tt.set)
			r := newProber(t, m).Probe(t.Context())
			wantReason(t, r, tt.want)
			if r.Fault != nil && !strings.Contains(r.Fault.Error(), tt.says) {
				t.Errorf("%q does not say %q", r.Fault, tt.says)
			}
			if tt.want == check.OK && !r.Proved {
				t.Error("both ends have shown a certificate, and it is not seen")
			}
		})
	}
}

// TestANameThatAgentsUseIsAWarning: the master's certificate lacks the name of the host. Agents, which use the
// other, are served. It must be verified with the CA.
func TestANameThatAgentsUseIsAWarning(t *testing.T) {
	foreign := must(checktest.NewCA("Another CA"))
	for _, tt := range []struct {
		name     string
		template checktest.Template
		names    []string
		set      func(*checktest.Master)
		want     check.Reason
		finding  check.Reason
	}{
		{"the pool's name", checktest.Template{Name: pool}, []string{pool}, nil, check.OK, check.NameMissing},
		{"the pool's common name", checktest.Template{Name: pool, CNOnly: true}, []string{pool}, nil, check.OK,
			check.NameMissing},
		{"the second of two", checktest.Template{Name: pool}, []string{"puppet", pool}, nil, check.OK, check.NameMissing},
		{"one of many", checktest.Template{Name: "m1", AltNames: []string{"ca", pool}}, []string{pool}, nil, check.OK,
			check.NameMissing},
		{"a wildcard", checktest.Template{Name: "*.pool.test"}, []string{"a.pool.test"}, nil, check.OK, check.NameMissing},
		{"both names", checktest.Template{Name: pool, AltNames: []string{certname}}, []string{pool}, nil, check.OK,
			check.OK},

		{"not a name that agents use", other, []string{pool}, nil, puppetclient.ServerCertName, check.OK},
		{"no other name is known", checktest.Template{Name: pool}, nil, nil, puppetclient.ServerCertName, check.OK},
		{"expired", checktest.Template{Name: pool, NotBefore: past.Add(-time.Hour), NotAfter: past}, []string{pool}, nil,
			puppetclient.ServerCertExpired, check.OK},
		{"of another CA", checktest.Template{Name: pool}, []string{pool}, func(m *checktest.Master) {
			write(t, m.Files().CA, foreign.Bundle())
		}, puppetclient.ServerCertUntrusted, check.OK},
		{"the CA is missing", checktest.Template{Name: pool}, []string{pool}, func(m *checktest.Master) {
			os.Remove(m.Files().CA)
		}, puppetclient.ServerCertName, check.OK},
		{"revoked", checktest.Template{Name: pool}, []string{pool}, func(m *checktest.Master) {
			m.CA.Revoke(m.Leaf.Certificate)
			write(t, m.Files().CRL, must(m.CA.CRL(future)))
		}, puppetclient.ServerCertRevoked, check.OK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			own := m.Leaf
			serve(t, m, must(m.CA.Issue(tt.template)))
			if tt.set != nil {
				tt.set(m)
			}
			install(t, m, own)
			p := newProber(t, m)
			p.Names = tt.names
			for _, handshake := range []bool{true, false} {
				r := p.Probe(t.Context())
				wantReason(t, r, tt.want)
				if tt.want != check.OK {
					return
				}
				if r.Handshake != handshake || r.Proved != (tt.finding == check.OK) {
					t.Errorf("handshake %v, want %v; proved %v", r.Handshake, handshake, r.Proved)
				}
				all := check.All().With(check.ExpirySettings{Warn: time.Hour, Names: tt.names})
				f := all.Observers(new(check.Seen))[check.CheckExpiry](r, time.Now())
				if f.Reason != tt.finding || f.Health != "" {
					t.Errorf("%+v, want %s", f, tt.finding)
				}
				if tt.finding != check.OK && !strings.Contains(f.Detail, certname) {
					t.Errorf("%q does not name %s", f.Detail, certname)
				}
			}
			serve(t, m, own) // renewed, and Puppet Server restarted
			m.Set(checktest.Stopped)
			p.Probe(t.Context())
			m.Set(checktest.Running)
			if r := p.Probe(t.Context()); r.Fault != nil || r.Lacks != "" || !r.Proved {
				t.Errorf("with the name: %v, lacks %q, proved %v", r.Fault, r.Lacks, r.Proved)
			}
		})
	}
}

// TestAGuessedNameIsNotTheMastersFault: while it is not known either which names agents use, any name will do, in a
// certificate of the CA.
func TestAGuessedNameIsNotTheMastersFault(t *testing.T) {
	foreign := must(checktest.NewCA("Another CA"))
	for _, tt := range []struct {
		name     string
		template checktest.Template
		names    []string // that agents use
		damage   func(ca string)
		want     check.Reason
	}{
		{name: "another name", template: other, want: check.OK},
		{name: "another common name", template: checktest.Template{Name: other.Name, CNOnly: true}, want: check.OK},
		{name: "a wildcard", template: checktest.Template{Name: "*.pool.test"}, want: check.OK},
		{name: "not a name that agents use", template: other, names: []string{pool}, want: puppetclient.ServerCertName},
		{name: "of another CA", template: other, damage: func(ca string) { write(t, ca, foreign.Bundle()) },
			want: puppetclient.ServerCertUntrusted},
		{name: "the CA is missing", template: other, damage: func(ca string) { os.Remove(ca) },
			want: puppetclient.ServerCertName},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			own := m.Leaf
			serve(t, m, must(m.CA.Issue(tt.template)))
			install(t, m, own)
			if tt.damage != nil {
				tt.damage(m.Files().CA)
			}
			p := newProber(t, m)
			p.Names, p.Guessed = tt.names, true
			r := p.Probe(t.Context())
			wantReason(t, r, tt.want)
			if r.Proved || tt.want == check.OK && r.Lacks != certname {
				t.Errorf("proved %v, lacks %q", r.Proved, r.Lacks)
			}
		})
	}
}

// TestAKeptConnectionDoesNotProveThatNewOnesComeIn: the master answers. Connections wait in the kernel's queue.
func TestAKeptConnectionDoesNotProveThatNewOnesComeIn(t *testing.T) {
	type script []bool // what Accepts says, in turn
	unknown := errors.New("not known")
	for _, tt := range []struct {
		name    string
		waiting func(look int) int
		listens error
		accepts script
		err     error
		set     func(*checktest.Master, *check.Prober)
		want    check.Reason
		asked   int // how often Accepts is asked at least
	}{
		{name: "no descriptors left", accepts: script{false, false}, want: check.NotAccepting, asked: 2},
		{name: "a herd: accepted, one after the other", accepts: script{true}, want: check.OK, asked: 1},
		{name: "a garbage collection has just begun", accepts: script{false, true}, want: check.OK, asked: 2},
		{name: "it cannot be known", accepts: script{false}, err: unknown, want: check.OK, asked: 1},
		{name: "on another host", listens: unknown, accepts: script{false, false}, want: check.OK},
		{name: "empty at each second look", waiting: func(look int) int { return look % 2 }, accepts: script{false, false},
			want: check.OK},
		{name: "each probe makes a connection", set: func(_ *checktest.Master, p *check.Prober) {
			p.Handshake = time.Nanosecond
		}, accepts: script{false, false}, want: check.OK},
		{name: "stopped meanwhile (SIGSTOP), or a long collection", accepts: script{false, false},
			set: func(m *checktest.Master, p *check.Prober) {
				accepts := p.Accepts
				p.Accepts = func(ctx context.Context) (bool, error) {
					m.Set(checktest.Silent)
					p.Wait = 100 * time.Millisecond
					return accepts(ctx)
				}
			}, want: puppetclient.Timeout, asked: 2},
		{name: "killed meanwhile", accepts: script{false, false}, set: func(m *checktest.Master, p *check.Prober) {
			accepts := p.Accepts
			p.Accepts = func(ctx context.Context) (bool, error) { m.Set(checktest.Stopped); return accepts(ctx) }
		}, want: puppetclient.Refused, asked: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMaster(t)
			p := newProber(t, m)
			looks, asked := 0, 0
			p.Listens = func() (check.Listening, error) {
				looks++
				waiting := 3
				if tt.waiting != nil {
					waiting = tt.waiting(looks)
				}
				return check.Listening{ID: "1", Waiting: waiting}, tt.listens
			}
			p.Accepts = func(context.Context) (bool, error) {
				said := asked >= len(tt.accepts) || tt.accepts[asked]
				asked++
				return said, tt.err
			}
			if tt.set != nil {
				tt.set(m, p)
			}
			began, r := time.Now(), check.Result{}
			for range 3 {
				if r = p.Probe(t.Context()); r.Fault != nil || asked > 0 {
					break
				}
				time.Sleep(check.AcceptTime) // the interval of the probes while connections wait
			}
			wantReason(t, r, tt.want)
			if asked < tt.asked || tt.asked == 0 && asked > 0 {
				t.Errorf("Accepts was asked %d times, want %d", asked, tt.asked)
			}
			if time.Since(began) < check.AcceptTime && tt.want != check.OK {
				t.Error("two looks were not a second apart")
			}
			if tt.want != check.NotAccepting {
				return
			}
			if r.Pool == nil || !strings.Contains(r.Fault.Error(), "3 wait") {
				t.Errorf("%v, pool %v", r.Fault, r.Pool)
			}
			f := check.All().Observers(new(check.Seen))[check.CheckJRuby](r, time.Now())
			if f.Pool == nil || f.State != check.StateOK {
				t.Errorf("%+v, want the pool, by which a drain goes", f)
			}
		})
	}
}

// TestAnAnswerAfterATimeoutDoesNotEmptyTheQueue: a master without descriptors is slow once. Its next response, on the
// kept connection, must not make it healthy for as long as two looks take.
func TestAnAnswerAfterATimeoutDoesNotEmptyTheQueue(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	p := newProber(t, m)
	p.Listens = func() (check.Listening, error) { return check.Listening{ID: "1", Waiting: 51}, nil }
	accepts := false
	var unknown error
	p.Accepts = func(context.Context) (bool, error) { return accepts, unknown }
	p.Probe(t.Context())

	m.Set(checktest.Silent)
	p.Wait = check.AcceptTime
	wantReason(t, p.Probe(t.Context()), puppetclient.Timeout)

	m.Set(checktest.Running)
	wantReason(t, p.Probe(t.Context()), check.NotAccepting)

	// The kernel has reset the connection: what is not known ends nothing.
	unknown = errors.New("not known")
	time.Sleep(check.AcceptTime) // the interval of the probes while connections wait
	wantReason(t, p.Probe(t.Context()), check.NotAccepting)

	accepts, unknown = true, nil
	wantReason(t, p.Probe(t.Context()), check.OK)
}
