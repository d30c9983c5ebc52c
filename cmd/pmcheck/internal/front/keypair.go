package front

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// ServerTLS returns the configuration of a listener that speaks TLS. It reads
// the files again when they have changed, so a renewed certificate is used
// without a reload; clientCA may be empty. The error says which file cannot be used.
// It logs changed files that cannot be used, because the next daemon will not start with
// them, and tries them again every second in which there is a handshake.
func ServerTLS(certificate, key, clientCA string, log *slog.Logger) (*tls.Config, error) {
	source := &keyPair{certificate: certificate, key: key, clientCA: clientCA, log: log, now: time.Now}
	if _, err := source.config(nil); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: source.config}, nil
}

// keyPair is the certificate of the TLS listener. The last good one stays in
// use while the files are bad.
type keyPair struct {
	certificate, key, clientCA string // paths; clientCA may be empty
	log                        *slog.Logger
	now                        func() time.Time

	mu    sync.Mutex
	last  *tls.Config
	infos [3]fs.FileInfo // of the files that last was made of
	fault string         // why the files on disk cannot be used; empty if they can
	retry time.Time      // when they are read again after a fault
}

// retryAfter is the time between two attempts to read files that cannot be used. Nothing
// that stat shows needs to change before they can: an operator may correct their mode.
const retryAfter = time.Second

// config returns the configuration for a handshake now.
func (k *keyPair) config(*tls.ClientHelloInfo) (*tls.Config, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if k.last != nil && now.Before(k.retry) {
		return k.last, nil
	}
	infos := k.stat() // before they are read: a change meanwhile is seen the next time
	if k.last != nil && slices.EqualFunc(infos[:], k.infos[:], same) {
		k.fault = ""
		return k.last, nil
	}
	next, err := k.read()
	switch {
	case err == nil:
		k.last, k.infos, k.fault = next, infos, ""
		return next, nil
	case k.last == nil:
		return nil, err
	}
	k.retry = now.Add(retryAfter)
	if k.fault != err.Error() {
		k.fault = err.Error()
		k.log.Warn("the changed files of the TLS listener cannot be used, the last good ones stay in use; "+
			"correct them before a restart", "error", err)
	}
	return k.last, nil
}

// stat returns nil for a file that does not exist or cannot be reached.
func (k *keyPair) stat() (infos [3]fs.FileInfo) {
	for i, path := range []string{k.certificate, k.key, k.clientCA} {
		infos[i], _ = os.Stat(path)
	}
	return infos
}

// same reports whether a file looks unchanged, or is still not there.
func same(a, b fs.FileInfo) bool { return a == nil && b == nil || puppetclient.SameFile(a, b) }

func (k *keyPair) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(k.certificate, k.key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the listener: %w", err)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{pair},
		// A resumed session would outlive a change of the client CA.
		SessionTicketsDisabled: true,
	}
	if k.clientCA == "" {
		return config, nil
	}
	bundle, err := os.ReadFile(k.clientCA)
	if err != nil {
		return nil, fmt.Errorf("client CA of the listener: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("client CA of the listener: no certificate in %s", k.clientCA)
	}
	return config, nil
}
