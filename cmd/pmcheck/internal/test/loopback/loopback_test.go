package loopback_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/loopback"
)

// A reserved port refuses connections, can be listened on again and again, and is given
// to no other socket.
func TestReservedPortIsGivenToNoOtherSocket(t *testing.T) {
	address, release, err := loopback.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for range 3 {
		if c, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("connected to %v, %v; want a refusal", c, err)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		l.Close()
	}
	for range 2000 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if l.Addr().String() == address {
			t.Fatalf("the kernel gave %s away", address)
		}
	}
}
