package checktest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Master is a simulated Puppet Server with its own CA. Its files, including
// puppet.conf, are below Dir in Puppet's layout. Its methods are safe for concurrent
// use.
type Master struct {
	Dir  string
	Name string // certname
	CA   *CA
	Leaf *Leaf // the host's certificate, which the master also uses as its own

	asked atomic.Int64

	mu       sync.Mutex
	changed  *sync.Cond // of the state, or a connection was closed
	listens  string     // the address, also while stopped
	state    State
	since    time.Time // when the state began
	answers  map[string][]canned
	editTLS  func(*tls.Config)
	trust    *x509.CertPool
	crls     []*x509.RevocationList
	cert     tls.Certificate
	server   *http.Server // nil while stopped
	listener *net.TCPListener
	done     chan struct{}
}

// NewMaster makes a CA and a host certificate for name, writes them below
// dir, and starts the master on address ("127.0.0.1:0" for any port).
func NewMaster(dir, name, address string) (*Master, error) {
	ca, err := NewCA("Puppet CA: " + name)
	if err != nil {
		return nil, err
	}
	return NewMasterWithCA(dir, name, address, ca)
}

// NewMasterWithCA is NewMaster with an existing authority.
func NewMasterWithCA(dir, name, address string, ca *CA) (*Master, error) {
	leaf, err := ca.Issue(Template{Name: name})
	if err != nil {
		return nil, err
	}

	m := &Master{Dir: dir, Name: name, CA: ca, Leaf: leaf, listens: address, state: Running}
	m.changed = sync.NewCond(&m.mu)
	if err := errors.Join(m.WriteFiles(), m.Load()); err != nil {
		return nil, err
	}
	return m, m.start()
}

// Files returns the paths of the files that a probe of this master uses.
func (m *Master) Files() puppetclient.Files {
	ssl := filepath.Join(m.Dir, "ssl")
	return puppetclient.Files{
		Certificate: filepath.Join(ssl, "certs", m.Name+".pem"),
		Key:         filepath.Join(ssl, "private_keys", m.Name+".pem"),
		CA:          filepath.Join(ssl, "certs", "ca.pem"),
		CRL:         filepath.Join(ssl, "crl.pem"),
	}
}

// WriteFiles writes puppet.conf, the certificate, the key, the CA bundle, and a CRL that is
// valid for a year. The master keeps using the previous files until Load.
func (m *Master) WriteFiles() error {
	crl, err := m.CA.CRL(time.Now().AddDate(1, 0, 0))
	key, keyErr := m.Leaf.KeyPEM()
	if err := errors.Join(err, keyErr); err != nil {
		return err
	}

	conf := fmt.Sprintf("[main]\ncertname = %s\nssldir = %s\n", m.Name, filepath.Join(m.Dir, "ssl"))
	f := m.Files()
	for path, data := range map[string][]byte{
		filepath.Join(m.Dir, "puppet.conf"): []byte(conf),
		f.Certificate:                       m.Leaf.CertificatePEM(),
		f.Key:                               key,
		f.CA:                                m.CA.Bundle(),
		f.CRL:                               crl,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Load makes the master use the certificate, CA and CRLs that are on disk now,
// as a restart of Puppet Server would; it applies to new handshakes.
func (m *Master) Load() error {
	f := m.Files()
	cert, err := tls.LoadX509KeyPair(f.Certificate, f.Key)
	lists, crlErr := os.ReadFile(f.CRL)
	bundle, caErr := os.ReadFile(f.CA)
	if err := errors.Join(err, crlErr, caErr); err != nil {
		return err
	}

	trust := x509.NewCertPool()
	if !trust.AppendCertsFromPEM(bundle) {
		return fmt.Errorf("no certificate in %s", f.CA)
	}

	m.mu.Lock()
	m.cert = cert
	m.trust = trust
	m.mu.Unlock()
	return m.LoadCRLs(lists)
}

// LoadCRLs makes the master use these CRLs, whatever is on disk.
func (m *Master) LoadCRLs(data []byte) error {
	var crls []*x509.RevocationList
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		crl, err := x509.ParseRevocationList(block.Bytes)
		if err != nil {
			return err
		}
		crls = append(crls, crl)
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	m.crls = crls
	return nil
}

// Address returns where the master listens, as host:port. It stays the same when the
// master stops and starts.
func (m *Master) Address() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listens
}

// Questions returns how many requests have arrived.
func (m *Master) Questions() int64 { return m.asked.Load() }

// Close stops the master and waits until it has ended.
func (m *Master) Close() error { return m.Set(Stopped) }

func (m *Master) start() error {
	listener, err := net.Listen("tcp", m.listens)
	if err != nil {
		return fmt.Errorf("simulated master: %w", err)
	}

	m.listens = listener.Addr().String()
	m.listener = listener.(*net.TCPListener)
	m.done = make(chan struct{})
	m.server = &http.Server{
		Handler:           http.HandlerFunc(m.serve),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
	}

	config := &tls.Config{GetConfigForClient: m.tlsConfig}
	accepting := silenced{TCPListener: m.listener, master: m}
	go func(s *http.Server, done chan struct{}) {
		defer close(done)
		s.Serve(tls.NewListener(accepting, config)) // ends with Close, always with an error
	}(m.server, m.done)
	return nil
}
