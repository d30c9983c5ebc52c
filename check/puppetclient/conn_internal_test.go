package puppetclient

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// The name localhost means both loopback addresses, whatever /etc/hosts says.
func TestConnectTriesBothLoopbackAddresses(t *testing.T) {
	for _, ip := range []string{"127.0.0.1", "::1"} {
		t.Run(ip, func(t *testing.T) {
			l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
			if errors.Is(err, syscall.EADDRNOTAVAIL) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, port, _ := net.SplitHostPort(l.Addr().String())
			conn, err := connect(t.Context(), "LocalHost:"+port)
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			l.Close()
			if conn, err = connect(t.Context(), "localhost:"+port); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("without a listener connect returns %v, %v", conn, err)
			}
		})
	}
}
