package check_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

func TestHostileServerIsAFault(t *testing.T) {
	tests := []struct {
		name string
		talk func(net.Conn)
		want check.Reason
	}{
		{"closes at once", func(net.Conn) {}, check.ConnectionLost},
		{"not TLS", func(c net.Conn) { c.Write([]byte("SSH-2.0-OpenSSH_9.2p1\r\n")) }, check.TLSFailed},
		{"accepts and never answers", func(c net.Conn) { c.Read(make([]byte, 1)); hang(c) }, check.Timeout},
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

func TestUnresolvableNameIsAFault(t *testing.T) {
	p := newProber(t, newMaster(t))
	p.Address = "master.invalid:8140"
	r := p.Probe(context.Background())
	wantReason(t, r, check.NameLookup)
}

// listen returns the address of a listener that calls talk for each connection and
// then closes it.
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

// hang blocks until the peer closes the connection.
func hang(c net.Conn) {
	for b := make([]byte, 4096); ; {
		if _, err := c.Read(b); err != nil {
			return
		}
	}
}
