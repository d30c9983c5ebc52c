package check_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

func TestResultDescribesTheConnection(t *testing.T) {
	m := newMaster(t)
	r := newProber(t, m).Probe(t.Context())
	wantReason(t, r, check.OK)
	if leaf := m.Leaf.Certificate; !strings.HasPrefix(r.TLS, "TLS 1.3, ") || !leaf.Equal(r.Server) || !leaf.Equal(r.Own) {
		t.Errorf("%s with %+v, own certificate %+v", r.TLS, r.Server, r.Own)
	}
	want := "https://" + m.Address() + "/status/v1/services/jruby-metrics?level=debug"
	if r.URL != want || r.Status != 200 || r.Body != nil {
		t.Errorf("asked %s and got %d, want %s and 200", r.URL, r.Status, want)
	}
	if !r.Handshake || len(r.CRLs) != 1 || len(r.CAs) != 1 || r.Took <= 0 {
		t.Errorf("handshake %v, CRLs %v, CAs %v, took %v", r.Handshake, r.CRLs, r.CAs, r.Took)
	}
}

func TestEachGenerationIsFoundAndRemembered(t *testing.T) {
	paths := []string{"/status/v1/services/jruby-metrics", "/status/v1/simple/server", "/status/v1/simple/master",
		"/status/v1/simple", "/puppet/v3/status/pmcheck", "/production/status/no_key"}
	for i, path := range paths {
		t.Run(path, func(t *testing.T) {
			m := newMaster(t)
			for _, newer := range paths[:i] {
				m.SetResponse(newer, 404, "")
			}
			if i > 3 {
				m.SetResponse(paths[i], 200, `{"is_alive":true,"version":"3.8.7"}`)
			}
			p := newProber(t, m)
			r := p.Probe(t.Context())
			if wantReason(t, r, check.OK); !strings.HasSuffix(strings.Split(r.URL, "?")[0], path) {
				t.Errorf("asked %s, want %s", r.URL, path)
			}
			wantQuestions(t, m, 1, func() { wantReason(t, p.Probe(t.Context()), check.OK) })
			m.SetPool(check.Pool{Size: 1, Free: 1}) // upgraded
			m.Set(checktest.Stopped)
			wantReason(t, p.Probe(t.Context()), puppetclient.Refused)
			m.Set(checktest.Running)
			if r := p.Probe(t.Context()); r.Fault != nil || r.Pool == nil {
				t.Errorf("after an upgrade: %v, pool %v", r.Fault, r.Pool)
			}
		})
	}
}

// A master of Puppet 3 to 6 that lacks the environment production answers 404 for it.
func TestOlderGenerationsAreAskedForAnEnvironmentThatTheyHave(t *testing.T) {
	for _, want := range []string{"/puppet/v3/status/pmcheck?environment=dev_1", "/dev_1/status/no_key"} {
		m := newMaster(t)
		path, _, _ := strings.Cut(want, "?")
		for _, newer := range []string{"/status/v1/services/jruby-metrics", "/status/v1/simple/server",
			"/status/v1/simple/master", "/status/v1/simple", "/puppet/v3/status/pmcheck"} {
			m.SetResponse(newer, 404, "")
		}
		m.SetResponse(path, 200, `{"is_alive":true,"version":"3.8.7"}`)
		p := newProber(t, m)
		p.Environment = "dev_1"
		r := p.Probe(t.Context())
		if wantReason(t, r, check.OK); !strings.HasSuffix(r.URL, want) {
			t.Errorf("asked %s, want %s", r.URL, want)
		}
	}
}

func TestProbeReadsThePool(t *testing.T) {
	const path = "/status/v1/services/jruby-metrics"
	full := `{"state":"running","status":{"experimental":{"metrics":{"num-jrubies":1,"num-free-jrubies":1,` +
		`"borrowed-instances":[],"requested-instances":[]}}}}`
	for _, tt := range []struct {
		name      string
		set       func(*checktest.Master)
		reason    check.Reason
		read      bool
		questions [2]int64 // of the first probe, and of the second
	}{
		{"in one request", func(*checktest.Master) {}, check.OK, true, [2]int64{1, 1}},
		{"a count of zero is confirmed", func(m *checktest.Master) { m.SetPool(check.Pool{Size: 2}) }, check.OK, true,
			[2]int64{2, 2}},
		{"under its name in PE", func(m *checktest.Master) {
			m.SetResponse(path, 404, "not found")
			m.SetResponse("/status/v1/services/pe-jruby-metrics", 200, full)
		}, check.OK, true, [2]int64{2, 1}},
		{"denied", func(m *checktest.Master) { m.SetResponse(path, 403, "") }, check.OK, false, [2]int64{3, 1}},
		{"in another format", func(m *checktest.Master) { m.SetResponse(path, 200, `{"state":"running"}`) }, check.OK, false,
			[2]int64{1, 1}},
		{"not running", func(m *checktest.Master) { m.SetResponse(path, 503, `{"state":"unknown"}`) }, check.OK, false,
			[2]int64{3, 3}},
		{"denied, as all else: the server logs each as an error", func(m *checktest.Master) { m.Set(checktest.Denied) },
			check.OK, false, [2]int64{7, 1}},
		{"not running, as the master, which is confirmed", func(m *checktest.Master) { m.Set(checktest.Error) },
			check.StateError, false, [2]int64{6, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			tt.set(m)
			p := newProber(t, m)
			for _, want := range tt.questions {
				wantQuestions(t, m, want, func() {
					r := p.Probe(t.Context())
					wantReason(t, r, tt.reason)
					if (r.Pool != nil) != tt.read || tt.reason == check.OK && (r.PoolErr == nil) != tt.read {
						t.Errorf("pool %v, %v", r.Pool, r.PoolErr)
					}
				})
			}
		})
	}
}

// TestAJRubyThatIsHandedOverIsCounted: for a moment, the pool shows no instance.
func TestAJRubyThatIsHandedOverIsCounted(t *testing.T) {
	m := newMaster(t)
	m.SetPool(check.Pool{Size: 1}, check.Pool{Size: 1, Free: 1})
	wantQuestions(t, m, 2, func() {
		r := newProber(t, m).Probe(t.Context())
		if r.Pool == nil || r.Pool.Free != 1 {
			t.Errorf("pool %+v, %v", r.Pool, r.PoolErr)
		}
	})
}

func TestServiceIsAskedByName(t *testing.T) {
	m := newMaster(t)
	m.SetService("broker-service", "error")
	for service, want := range map[string]check.Reason{
		"ca":              check.OK,
		"broker-service":  check.StateError,
		"no-such-service": check.ServiceNotFound,
		"../services":     check.ServiceNotFound,
	} {
		p := newProber(t, m)
		p.Service = service
		p.Probe(t.Context())
		wantQuestions(t, m, 1, func() { wantReason(t, p.Probe(t.Context()), want) }) // it has no generations
	}
}

func TestConnectionIsKeptAndRenewed(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	for i := range 3 {
		if r := p.Probe(t.Context()); r.Handshake != (i == 0) {
			t.Errorf("probe %d: handshake %v", i+1, r.Handshake)
		}
	}
	if ends := p.Local(); len(ends) != 1 || !ends[0].Addr().IsLoopback() {
		t.Errorf("local addresses %v, want one", ends)
	}
	p.Handshake = time.Nanosecond
	if r := p.Probe(t.Context()); !r.Handshake {
		t.Errorf("an old connection was kept")
	}
	p.Close()
	if ends := p.Local(); len(ends) != 0 {
		t.Errorf("local addresses %v after Close, want none", ends)
	}
}

func TestLostConnectionIsReported(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	lost := make(chan struct{}, 1)
	p.Lost = func() { lost <- struct{}{} }
	wantReason(t, p.Probe(t.Context()), check.OK)
	m.Set(checktest.Stopped)
	<-lost
	wantReason(t, p.Probe(t.Context()), puppetclient.Refused)
}

// Accepts, Listens and Elsewhere need not be set.
func TestAProberAloneSaysWhatAMasterWithoutAnAnswerIs(t *testing.T) {
	for state, want := range map[checktest.State]check.Reason{
		checktest.Saturated: check.AcceptNotKnown,
		checktest.Silent:    check.AcceptNotKnown,
		checktest.Stopped:   puppetclient.Refused,
	} {
		m := newMaster(t)
		m.Set(state)
		p := newProber(t, m)
		p.Accepts = nil
		p.Wait = 100 * time.Millisecond
		wantReason(t, p.Probe(t.Context()), want)
	}
}

func TestPendingRequestIsAnsweredLater(t *testing.T) {
	const silence = puppetclient.Timeout
	for _, tt := range []struct {
		name    string
		accepts bool
		err     error
		want    check.Reason
		says    string
	}{
		{"saturated", true, nil, silence, "in time, but it accepts connections"},
		{"stopped", false, nil, silence, "in time, and it does not accept connections"},
		{"stopping", false, syscall.ECONNREFUSED, silence, "in time, and it refuses connections"},
		{"on another host, or a kernel without inet_diag", false, errors.New("no table"), check.AcceptNotKnown,
			"in time, and it is not known whether it accepts connections: no table"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMaster(t)
			p := newProber(t, m)
			const patient = 10 * time.Second // for a busy machine
			p.Timeout, p.Wait = 2*patient, patient
			p.Accepts = func(context.Context) (bool, error) { return tt.accepts, tt.err }
			wantReason(t, p.Probe(t.Context()), check.OK)
			wantQuestions(t, m, 1, func() { // one that was pending
				m.Set(checktest.Saturated)
				p.Wait = 100 * time.Millisecond
				for range 2 {
					r := p.Probe(t.Context())
					wantReason(t, r, tt.want)
					if r.Saturated != tt.accepts || !strings.HasSuffix(r.Fault.Error(), tt.says) || r.Own == nil || r.Pool != nil {
						t.Errorf("%v, saturated %v, own %v, pool %v; want %q, the last certificate, no pool", r.Fault, r.Saturated,
							r.Own, r.Pool, tt.says)
					}
				}
				m.Set(checktest.Running)
				p.Wait = patient
				wantReason(t, p.Probe(t.Context()), check.OK)
			})
			m.Set(checktest.Saturated)
			p.Wait = 100 * time.Millisecond
			p.Probe(t.Context())
			m.Set(checktest.Stopped)
			p.Wait = patient
			wantReason(t, p.Probe(t.Context()), puppetclient.Refused) // at once: not the end of the pending request
		})
	}
}

// TestPlainHTTPBehindATLSOffload: only for a master on this host.
func TestPlainHTTPBehindATLSOffload(t *testing.T) {
	offloaded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/status/v1/services/jruby-metrics" || r.Host != certname {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, `{"state":"running"}`)
	}))
	defer offloaded.Close()
	p := newProber(t, newMaster(t))
	p.Address = offloaded.URL
	for _, handshake := range []bool{true, false} {
		r := p.Probe(t.Context())
		wantReason(t, r, check.OK)
		if r.TLS != "" || r.Anonymous != nil || r.Warning != nil || r.Handshake != handshake || len(p.Local()) != 1 {
			t.Errorf("%+v, connections %v", r, p.Local())
		}
	}
}

// TestLongAnswersAreRead: a request that waits may have a path of any length, and a client with one certificate can
// send such requests to every master.
func TestLongAnswersAreRead(t *testing.T) {
	m := newMaster(t)
	long := "GET /puppet/v3/catalog/" + strings.Repeat("x", 8<<10)
	m.SetPool(check.Pool{Size: 1, Borrowed: loans(1, long), Waiting: loans(160, long)})
	r := newProber(t, m).Probe(t.Context())
	wantReason(t, r, check.OK)
	if r.Pool == nil || len(r.Pool.Waiting) != 160 || !strings.HasPrefix(long, r.Pool.Waiting[159].Request) {
		t.Errorf("%v, pool %v; want 160 requests that wait", r.PoolErr, r.Pool)
	}
}

// TestAnAnswerThatIsTooLongEndsNoVerdict: what pmcheck does not read says nothing of the master.
func TestAnAnswerThatIsTooLongEndsNoVerdict(t *testing.T) {
	m := newMaster(t)
	p := newProber(t, m)
	p.Wait, p.Timeout = time.Minute, time.Minute // the race detector takes seconds for so much
	j := check.Judge{MaxAge: time.Minute}
	observe := check.All().Observers(new(check.Seen))[check.CheckJRuby]
	good := p.Probe(t.Context())
	j.Observe(good)
	observe(good, time.Now())

	m.SetPool(check.Pool{Size: 1, Waiting: loans(20, strings.Repeat("x", 1<<20))})
	r := p.Probe(t.Context())
	wantReason(t, r, puppetclient.ResponseTooLong)
	if v := j.Observe(r); v.Health != check.Healthy || !v.Expires.Before(r.Asked.Add(time.Minute)) {
		t.Errorf("%s until %s; want the last verdict, not renewed", v, v.Expires)
	}
	f := observe(r, time.Now())
	if f.State != check.StateWarn || f.Reason != puppetclient.ResponseTooLong || f.Health != "" || f.Pool == nil {
		t.Errorf("%+v", f)
	}
	m.SetPool(check.Pool{Size: 1, Free: 1})
	if f := observe(p.Probe(t.Context()), time.Now()); f.State != check.StateOK {
		t.Errorf("%+v after an answer that fits", f)
	}
}

func loans(n int, request string) []check.Loan {
	return slices.Repeat([]check.Loan{{Request: request, Seconds: 1}}, n)
}

func TestHostileServerIsAFault(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 30000000\r\n\r\n" + `{"state":"running"}`
	wait := func(c net.Conn) { io.Copy(io.Discard, c) }
	answer := func(text string) func(net.Conn) {
		return func(c net.Conn) {
			c.Read(make([]byte, 1<<10)) // net/http refuses a response that comes before the request
			io.WriteString(c, text)
			wait(c)
		}
	}
	for _, tt := range []struct {
		name, scheme string
		talk         func(net.Conn)
		want         check.Reason
	}{
		{"closes at once", "", func(net.Conn) {}, puppetclient.ConnectionLost},
		{"not TLS", "", func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH_9.2p1\r\n") }, puppetclient.TLSFailed},
		{"never answers", "", wait, puppetclient.Timeout},
		{"stops within the answer", "http://", answer(ok), puppetclient.Timeout},
		{"never stops", "http://", answer(ok + strings.Repeat(" ", 5<<20)), puppetclient.ResponseTooLong},
	} {
		listener := must(net.Listen("tcp", "127.0.0.1:0"))
		go func() {
			for c, err := listener.Accept(); err == nil; c, err = listener.Accept() {
				go func() { tt.talk(c); c.Close() }()
			}
		}()
		p := newProber(t, newMaster(t))
		p.Address = tt.scheme + listener.Addr().String()
		if tt.want == puppetclient.Timeout {
			p.Timeout = 300 * time.Millisecond
			p.Accepts = func(context.Context) (bool, error) { return false, nil }
		}
		if got := p.Probe(t.Context()).Fault; got == nil || got.Reason != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
		listener.Close()
	}
	p := newProber(t, newMaster(t))
	p.Address = "master.invalid:8140"
	wantReason(t, p.Probe(t.Context()), puppetclient.NameLookup)
}
