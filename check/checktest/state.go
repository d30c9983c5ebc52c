package checktest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// State is how a stand-in master behaves.
type State string

// The states, named after the problem that they simulate.
const (
	Running  State = "running"  // healthy
	Starting State = "starting" // 503 with this word
	Stopping State = "stopping" // 503 with this word
	Error    State = "error"    // 503 with this word
	Denied   State = "denied"   // 403: auth.conf lacks the rule
	Garbage  State = "garbage"  // 200 with a web page
	Silent   State = "silent"   // as after SIGSTOP: never answers, and the kernel alone takes connections
	Stopped  State = "stopped"  // killed: port closed, connections ended
	// Saturated is a master whose threads are used up: it accepts connections, and never answers.
	Saturated State = "saturated"
	// JRubyStuck is a master whose JRubies are never returned to the pool: its status
	// is running, and its pool says for how long requests have waited.
	JRubyStuck State = "stuck"
)

// Set changes the state. Requests in progress are answered in the new state.
func (m *Master) Set(s State) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state, m.since = s, time.Now()
	m.changed.Broadcast()
	switch {
	case s != Stopped && m.server == nil:
		return m.start()
	case s == Silent:
		m.listener.SetDeadline(time.Now()) // ends the Accept that is under way
	case s == Stopped && m.server != nil:
		server, done := m.server, m.done
		m.server = nil
		m.mu.Unlock() // Accept and Read, for which Close waits, look whether the master is Silent
		// A child that is forked but has not called exec yet still has the listening
		// socket, and the kernel would go on accepting connections for it.
		syscall.ForkLock.RLock()
		server.Close()
		syscall.ForkLock.RUnlock()
		<-done
		m.mu.Lock()
	}
	return nil
}

// waitWhile blocks while a condition holds, which is called with mu held.
func (m *Master) waitWhile(holds func() bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for holds() {
		m.changed.Wait()
	}
}

func (m *Master) serve(w http.ResponseWriter, r *http.Request) {
	m.questions.Add(1)
	m.mu.Lock()
	state, api := m.state, m.api
	m.mu.Unlock()
	other, isOther := m.otherAnswer(r.URL.Path)
	switch {
	case r.TLS.ServerName != "" && r.Host != r.TLS.ServerName:
		http.Error(w, "Host does not match SNI", http.StatusBadRequest)
	case r.Method != http.MethodGet || state == Denied:
		http.Error(w, "Forbidden request", http.StatusForbidden)
	case state == Garbage:
		io.WriteString(w, "<html>It works!</html>")
	case isOther:
		other.serve(w)
	case !knows(api, r.URL.Path):
		http.Error(w, "not found: "+r.URL.Path, http.StatusNotFound)
	case api == check.APIPuppetV3 || api == check.APIPuppet3:
		io.WriteString(w, `{"is_alive":true,"version":"3.8.7"}`)
	case state == Running || state == JRubyStuck:
		io.WriteString(w, "running")
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, string(state))
	}
}

// knows reports whether a master of a generation has a path.
func knows(api check.API, path string) bool {
	return slices.Contains(map[string][]check.API{
		simplePath + "server":       {check.APIPool, check.APISimpleServer},
		simplePath + "master":       {check.APIPool, check.APISimpleServer, check.APISimpleMaster},
		"/status/v1/simple":         {check.APIPool, check.APISimpleServer, check.APISimpleMaster, check.APISimple},
		"/puppet/v3/status/pmcheck": {check.APIPuppetV3},
		"/production/status/no_key": {check.APIPuppet3},
	}[path], api)
}

// tlsConfig verifies a client certificate if one is given, as Puppet Server's
// "client-auth: want" does, against the CA and CRL as last loaded.
func (m *Master) tlsConfig(*tls.ClientHelloInfo) (*tls.Config, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	crl := m.crl
	return &tls.Config{
		Certificates:           []tls.Certificate{m.cert},
		ClientAuth:             tls.VerifyClientCertIfGiven,
		ClientCAs:              m.trust,
		SessionTicketsDisabled: true,
		VerifyPeerCertificate: func(_ [][]byte, chains [][]*x509.Certificate) error {
			if len(chains) == 0 {
				return nil
			}
			return accept(chains[0][0], crl)
		},
	}, nil
}

func accept(c *x509.Certificate, crl *x509.RevocationList) error {
	if time.Now().After(crl.NextUpdate) {
		return errors.New("the CRL has expired")
	}
	revoked := func(e x509.RevocationListEntry) bool { return e.SerialNumber.Cmp(c.SerialNumber) == 0 }
	if slices.ContainsFunc(crl.RevokedCertificateEntries, revoked) {
		return errors.New("the certificate is revoked")
	}
	return nil
}

// readCRL reads the first list of the file, the CA's own.
func readCRL(path string) (*x509.RevocationList, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("no CRL in %s", path)
	}
	return x509.ParseRevocationList(block.Bytes)
}
