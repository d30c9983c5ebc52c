package e2e_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// startTime bounds a start of Puppet Server on a busy machine.
const startTime = 4 * time.Minute

// TestDoubts configures one Puppet Server so that it serves agents, while pmcheck cannot find out or agree on
// something by itself. Balancers are told 200, and 503 as soon as the master does not serve. PMCHECK_LONG=1 has more.
func TestDoubts(t *testing.T) {
	lab.Real(t)
	s := lab.StartPuppetServer(t, lab.PuppetServerOptions{MaxActiveInstances: jrubies, HeapMB: 1536})
	lab.Build(t)
	s.WaitReady(5 * time.Minute)
	s.IssueCert(agentName, nil)
	type doubt struct {
		name string
		run  func(*testing.T, *lab.PuppetServer)
	}
	doubts := []doubt{
		{"restart of pmcheck while saturated", testRestartWhileSaturated},
		{"garbage collections", testCollections},
		{"no descriptors", testNoDescriptors},
	}
	if lab.Long() { // each starts Puppet Server twice or more
		doubts = append(doubts,
			doubt{"status denied", testStatusDenied},
			doubt{"ciphers", testCiphers},
			doubt{"name of the agents", testNameOfAgents},
			doubt{"our copy of the CRL", testOwnLists},
			doubt{"certificates of other CAs", testCertificatesOfOtherCAs},
			doubt{"certificate required", testRequiresCertificate})
	}
	for _, test := range doubts {
		if !t.Run(test.name, func(t *testing.T) { test.run(t, s) }) {
			return // the next one would meet a server in an unknown state
		}
	}
}

// assertAgentServed fails the test unless an agent is served.
func assertAgentServed(t *testing.T, s *lab.PuppetServer, name string) {
	t.Helper()
	lab.Output(t, askAsAgent(t, s, name))
}

// askAsAgent returns a command that requests what needs a JRuby as an agent does, with OpenSSL.
func askAsAgent(t *testing.T, s *lab.PuppetServer, name string) *exec.Cmd {
	t.Helper()
	files := s.CertFiles(agentName)
	host, port, err := net.SplitHostPort(s.Address())
	lab.Must(t, err)
	return exec.Command(lab.Need(t, "curl", "curl"), "--noproxy", "*", "--silent", "--show-error", "--fail",
		"--cacert", files.CA, "--cert", files.Certificate, "--key", files.Key,
		"--resolve", fmt.Sprintf("%s:%s:%s", name, port, host),
		"https://"+net.JoinHostPort(name, port)+"/puppet/v3/environments")
}

// startAnew starts the server again with these lines in webserver.conf.
func startAnew(t *testing.T, s *lab.PuppetServer, webserver string) {
	t.Helper()
	s.Kill()
	lab.Write(t, filepath.Join(s.Dir, "server/conf.d/tls.conf"), "webserver: {\n"+webserver+"\n}\n")
	s.Start()
}

func testCiphers(t *testing.T, s *lab.PuppetServer) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	const tlsFailed = "unhealthy: tls-failed"
	for _, tt := range []struct {
		ciphers string
		rsa     bool   // key exchange
		answer  string // although agents are served
	}{
		{ciphers: "TLS_RSA_WITH_AES_128_GCM_SHA256", rsa: true},
		{ciphers: "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"}, // and below
		{ciphers: "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", answer: tlsFailed},
		// Of the Foreman's puppet module, 2018 to 2020. Go has no CBC with SHA-256 and a key of 256 bits.
		{ciphers: "TLS_RSA_WITH_AES_256_CBC_SHA256, TLS_RSA_WITH_AES_256_CBC_SHA", rsa: true},
	} {
		startAnew(t, s, "cipher-suites: ["+tt.ciphers+"], ssl-protocols: [TLSv1.2]")
		switch {
		case tt.rsa && !s.HasRSAKeyExchange(): // then it starts without any suite, and closes each connection
			r.WaitRefusal("unhealthy: connection-lost", startTime)
			if out, err := askAsAgent(t, s, s.Certname()).CombinedOutput(); err == nil {
				t.Errorf("%s: agents are served: %s", tt.ciphers, out)
			}
		case tt.answer == tlsFailed:
			r.WaitRefusal(tlsFailed, startTime)
			if detail := r.Status().Services[0].Verdict.Detail; !strings.Contains(detail, "handshake failure") {
				t.Errorf("%s: %s", tt.ciphers, detail)
			}
			assertAgentServed(t, s, s.Certname())
		default:
			r.WaitVerdict("healthy: ok", startTime)
			assertAgentServed(t, s, s.Certname())
		}
		t.Logf("measured: %s: %s", tt.ciphers, r.Answer())
	}

	// The other way round: with an expired CRL, the server refuses every agent.
	startAnew(t, s, "cipher-suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256], ssl-protocols: [TLSv1.2]")
	r.WaitVerdict("healthy: ok", startTime)
	s.ExpireCRL()
	r.WaitRefusal("unhealthy: crl-expired", 20*time.Second)
	s.RenewCRL()
	r.WaitServing(20 * time.Second)
	startAnew(t, s, "")
	r.WaitVerdict("healthy: ok", startTime)
}

// testNameOfAgents: the master has a certificate of the pool alone.
func testNameOfAgents(t *testing.T, s *lab.PuppetServer) {
	const pool = "puppet.lab.example"
	s.IssueCert(pool, nil)
	conf := filepath.Join(s.Dir, "puppet/puppet.conf")
	was := lab.Read(t, conf)
	lab.Write(t, conf, was+"dns_alt_names = "+pool+"\n")
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	files := s.CertFiles(pool)
	startAnew(t, s, fmt.Sprintf("ssl-cert: %q, ssl-key: %q, ssl-ca-cert: %q, ssl-crl-path: %q",
		files.Certificate, files.Key, files.CA, files.CRL))
	r.WaitVerdict("healthy: ok", startTime)
	assertAgentServed(t, s, pool)
	r.WaitFinding(check.CheckExpiry, check.NameMissing, 10*time.Second)
	t.Logf("measured: %s: %s", r.Answer(), lab.Finding(r.Status(), check.CheckExpiry).Detail)

	s.IssueCert(pool, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) })
	startAnew(t, s, fmt.Sprintf("ssl-cert: %q, ssl-key: %q, ssl-ca-cert: %q, ssl-crl-path: %q",
		files.Certificate, files.Key, files.CA, files.CRL))
	r.WaitRefusal("unhealthy: server-certificate-expired", startTime)
	lab.Write(t, conf, was)
	startAnew(t, s, "")
	r.WaitVerdict("healthy: ok", startTime)
}

// denyStatus is what an auth.conf of before the Status API had rules amounts to.
const denyStatus = `{match-request: {path: "/status/v1", type: path, method: get}, deny: "*", sort-order: 1,
	name: "no status"}`

func testStatusDenied(t *testing.T, s *lab.PuppetServer) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	conf := filepath.Join(s.Dir, "server/conf.d/auth.conf")
	was := lab.Read(t, conf)
	lab.Write(t, conf, strings.Replace(was, "rules: [", "rules: ["+denyStatus+",", 1))
	startAnew(t, s, "")
	took := r.WaitFinding(check.CheckJRuby, check.AuthDenied, startTime)
	r.WaitVerdict("healthy: ok", time.Second)
	r.WaitServing(time.Second)
	assertAgentServed(t, s, s.Certname())
	t.Logf("measured: denied: %v, %s: %s", took, r.Answer(), lab.Finding(r.Status(), check.CheckJRuby).Detail)
	if code, body, err := s.Get(agentName, "/status/v1/simple"); code != http.StatusForbidden {
		t.Errorf("%d %q, %v; want 403", code, body, err)
	}

	// What a drain waits for is connections, since nobody tells which requests hold a JRuby.
	r.Hold(drain.Drain)
	j := startBlockage(t, s, jrubies)
	r.WaitStatus(time.Minute, func(s lab.Status) error {
		list := blocker.Texts(s.Services[0].Departure.Blockers, 10)
		if !strings.Contains(strings.Join(list, "; "), "connections in use") {
			return fmt.Errorf("in the way: %q", list)
		}
		return nil
	})
	j.end()
	took = r.WaitStatus(time.Minute, func(s lab.Status) error {
		if list := blocker.Texts(s.Services[0].Departure.Blockers, 10); len(list) > 0 {
			return fmt.Errorf("in the way: %q", list)
		}
		return nil
	})
	t.Logf("measured: idle %v after the last request", took)
	r.Hold(drain.Ready)

	// Without a certificate, which is a second doubt, the same answer may be that of any server.
	key := s.CertFiles(s.Certname()).Key
	lab.Must(t, os.Rename(key, key+".away"))
	r.Stop()
	r.Start()
	r.WaitRefusal("unknown: auth-denied", 20*time.Second)
	lab.Must(t, os.Rename(key+".away", key))
	r.WaitServing(20 * time.Second)

	s.ExpireCRL()
	r.WaitRefusal("unhealthy: crl-expired", 20*time.Second)
	s.RenewCRL()
	r.WaitServing(20 * time.Second)
	s.Kill()
	r.WaitRefusal("unhealthy: refused", 5*time.Second)
	lab.Write(t, conf, was)
	startAnew(t, s, "")
	r.WaitVerdict("healthy: ok", startTime)
}

// testNoDescriptors: the process answers on the connections that it has, and accepts no other.
func testNoDescriptors(t *testing.T, s *lab.PuppetServer) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	r.WaitFinding(check.CheckJRuby, check.OK, time.Minute)
	proc := fmt.Sprintf("/proc/%d", s.Pid())
	info, err := os.Stat(proc)
	lab.Must(t, err)
	user := info.Sys().(*syscall.Stat_t)
	limit := func(count string) { // as the user of the process, who may do that
		t.Helper()
		lab.Output(t, exec.Command("setpriv", fmt.Sprintf("--reuid=%d", user.Uid), fmt.Sprintf("--regid=%d", user.Gid),
			"--clear-groups", "prlimit", "--pid", fmt.Sprint(s.Pid()), "--nofile="+count+":"))
	}
	open, err := os.ReadDir(proc + "/fd")
	lab.Must(t, err)
	limit(fmt.Sprint(len(open)))
	began := time.Now()
	var clients []net.Conn
	leave := func() {
		for _, c := range clients {
			c.Close()
		}
	}
	t.Cleanup(leave)
	dialer := net.Dialer{Timeout: 200 * time.Millisecond}
	for range 200 {
		c, err := dialer.Dial("tcp", s.Address())
		if err != nil {
			break // the kernel's queue is full
		}
		clients = append(clients, c)
	}
	r.WaitAnswer(http.StatusServiceUnavailable, "", 20*time.Second)
	assertWithin(t, "no descriptors", time.Since(began), 10*time.Second)

	// On a busy machine the first refusal may be a timeout, and the next answer must not end it.
	answers := r.Record(5 * time.Millisecond)
	r.WaitRefusal("unhealthy: not-accepting", 10*time.Second)
	if n := answers.Stop().Count("200 " + lab.ServingBody); n > 0 {
		t.Errorf("200 again %d times: %s", n, answers)
	}
	t.Logf("measured: %d clients: %s", len(clients), r.Status().Services[0].Verdict.Detail)
	limit("4096")
	leave()
	r.WaitVerdict("healthy: ok", 30*time.Second)
}

// testCollections: a full garbage collection stops the process for up to a second, and the connections that agents
// make meanwhile wait in the kernel's queue. A process that is stopped by a signal for as long looks the same.
func testCollections(t *testing.T, s *lab.PuppetServer) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	answers := r.Record(5 * time.Millisecond)
	agents, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			for agents.Err() == nil {
				s.Get(agentName, "/puppet/v3/environments") // each over a new connection
			}
		})
	}
	for i := range 20 {
		s.Signal(syscall.SIGSTOP)
		lab.Pause(t, time.Second)
		s.Signal(syscall.SIGCONT)
		lab.Pause(t, time.Second+time.Duration(i)*97*time.Millisecond)
	}
	stop()
	work.Wait()
	answers.Stop().AssertOnly("200 Puppet Server is running.")
	t.Logf("measured: 20 collections of a second: %s", answers)
}

// herd is more agents at once than Jetty has threads, three times.
const herd = 600

// testRestartWhileSaturated: a new daemon cannot know a master that does not answer, and the one before it did.
func testRestartWhileSaturated(t *testing.T, s *lab.PuppetServer) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s, Remembers: true})
	forgetful := lab.StartSite(t, lab.SiteOptions{Server: s})
	steady := lab.StartSite(t, lab.SiteOptions{Server: s})
	j := startBlockage(t, s, jrubies)
	j.waitForPool(r, 0)
	answers := steady.Record(5 * time.Millisecond)
	j.saturate(herd-jrubies, r, forgetful)
	for range 3 {
		r.Stop()
		r.Start()
		r.WaitVerdict("busy: saturated", 30*time.Second)
		if code, body, err := r.Ask("/"); code != http.StatusOK {
			t.Errorf("after a restart of pmcheck: %d %q, %v", code, body, err)
		}
	}
	forgetful.Stop()
	forgetful.Start()
	forgetful.WaitRefusal("unhealthy: timeout", 30*time.Second)
	j.open()
	steady.WaitVerdict("healthy: ok", 2*time.Minute)
	// No false alarm by the queue of the kernel. The herd has the processor too, and a client here may give up.
	if told := answers.Stop().Told(); told != "200 "+lab.ServingBody {
		t.Errorf("the answers were %s", told)
	}
	j.end()
	r.WaitVerdict("healthy: ok", startTime)
}
