package checktest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"
)

// State is how a stand-in master behaves.
type State string

// The states, named after the problem that they simulate.
const (
	Running  State = "running"  // healthy
	Starting State = "starting" // 503 with this word
	Error    State = "error"    // 503 with this word
	Denied   State = "denied"   // 403: auth.conf lacks the rules of the Status API
	Silent   State = "silent"   // as after SIGSTOP: never answers, and the kernel alone takes connections
	Stopped  State = "stopped"  // killed: port closed, connections ended
	// Saturated is a master whose threads are used up: it accepts connections, and never answers.
	Saturated State = "saturated"
	// NotAccepting is a master whose process has no descriptors left: it answers on connections that it has,
	// and leaves new ones to the kernel.
	NotAccepting State = "not-accepting"
	// JRubyStuck is a master whose JRubies are never returned to the pool: its status
	// is running, and its pool says for how long requests have waited.
	JRubyStuck State = "stuck"
)

// Set changes the state. Requests in progress are answered in the new state.
func (m *Master) Set(s State) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = s
	m.since = time.Now()
	m.changed.Broadcast()

	runs := m.server != nil
	switch {
	case runs && s == Stopped:
		m.end()
	case runs && (s == Silent || s == NotAccepting):
		m.listener.SetDeadline(time.Now()) // ends the Accept that is under way
	case !runs && s != Stopped:
		return m.start()
	}
	return nil
}

// end ends the server, and waits for that. It is called with mu held, and releases it meanwhile: Accept and Read, for
// which Close waits, look whether the master is Silent.
func (m *Master) end() {
	server := m.server
	done := m.done
	m.server = nil
	m.mu.Unlock()
	defer m.mu.Lock()

	// A child that is forked but has not called exec yet still has the listening
	// socket, and the kernel would go on accepting connections for it.
	syscall.ForkLock.RLock()
	server.Close()
	syscall.ForkLock.RUnlock()
	<-done
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
	m.asked.Add(1)
	a := m.response(r.URL.Path)
	if r.Method != http.MethodGet {
		a = forbidden(r.URL.Path)
	}
	if r.TLS.ServerName != "" && r.Host != r.TLS.ServerName {
		a = canned{status: http.StatusBadRequest, body: "Host does not match SNI"}
	}

	if strings.HasPrefix(a.body, "{") {
		w.Header().Set("Content-Type", "application/json;charset=utf-8")
	}
	w.WriteHeader(a.status)
	io.WriteString(w, a.body)
}

// tlsConfig verifies a client certificate if one is given, as Puppet Server's
// "client-auth: want" does, against the CA and the CRLs as last loaded. Without VerifyPeerCertificate, it is a master
// whose webserver.conf has no ssl-crl-path.
func (m *Master) tlsConfig(*tls.ClientHelloInfo) (*tls.Config, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	lists := m.crls
	config := &tls.Config{
		Certificates:           []tls.Certificate{m.cert},
		ClientAuth:             tls.VerifyClientCertIfGiven,
		ClientCAs:              m.trust,
		SessionTicketsDisabled: true,
		VerifyPeerCertificate: func(_ [][]byte, chains [][]*x509.Certificate) error {
			if len(chains) == 0 {
				return nil
			}
			return refuses(chains[0], lists, time.Now())
		},
	}
	if m.editTLS != nil {
		m.editTLS(config)
	}
	return config, nil
}

// refuses returns why Java refuses a chain: the CRL of an issuer is missing, has expired, or lists a certificate. It
// does not look the root up.
func refuses(chain []*x509.Certificate, lists []*x509.RevocationList, now time.Time) error {
	for i, issuer := range chain[1:] {
		at := slices.IndexFunc(lists, func(crl *x509.RevocationList) bool { return crl.CheckSignatureFrom(issuer) == nil })
		if at < 0 {
			return errors.New("a CRL is missing")
		}
		if now.After(lists[at].NextUpdate) {
			return errors.New("a CRL has expired")
		}

		for _, entry := range lists[at].RevokedCertificateEntries {
			if entry.SerialNumber.Cmp(chain[i].SerialNumber) == 0 {
				return errors.New("the certificate is revoked")
			}
		}
	}
	return nil
}

// SetTLS makes the master edit the TLS configuration of each new connection, as webserver.conf does; nil
// makes it use its own.
func (m *Master) SetTLS(edit func(*tls.Config)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.editTLS = edit
}
