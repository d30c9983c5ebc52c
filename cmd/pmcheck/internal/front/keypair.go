package front

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// ServerTLS returns the configuration of a listener that speaks TLS. It reads
// the files again when they have changed, so a renewed certificate is used
// without a reload; clientCA may be empty. The error says which file cannot be used.
// It logs changed files that cannot be used: the next daemon will not start with them.
func ServerTLS(certificate, key, clientCA string, log *slog.Logger) (*tls.Config, error) {
	source := &keyPair{certificate: certificate, key: key, clientCA: clientCA, log: log}
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

	mu   sync.Mutex
	mark string // of the files as last read
	last *tls.Config
}

// config returns the configuration for a handshake now.
func (k *keyPair) config(*tls.ClientHelloInfo) (*tls.Config, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	mark := k.stat()
	if k.last != nil && mark == k.mark {
		return k.last, nil
	}
	next, err := k.read()
	switch {
	case err == nil:
		k.last = next
	case k.last == nil:
		return nil, err
	default:
		k.log.Warn("the changed files of the TLS listener cannot be used, the last good ones stay in use; "+
			"correct them before a restart", "error", err)
	}
	k.mark = mark
	return k.last, nil
}

func (k *keyPair) stat() string {
	mark := ""
	for _, path := range []string{k.certificate, k.key, k.clientCA} {
		if info, err := os.Stat(path); err == nil {
			mark += fmt.Sprintf("%d %s;", info.Size(), info.ModTime().Format(time.RFC3339Nano))
		}
	}
	return mark
}

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
