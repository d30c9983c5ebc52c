package puppetclient

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestNetworkError(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want Reason
	}{
		{"reset by the peer", broken("read", syscall.ECONNRESET), ConnectionLost},
		{"ended by an administrator, as with ss -K", broken("read", syscall.ECONNABORTED), ConnectionLost},
		{"written to after its end", broken("write", syscall.EPIPE), ConnectionLost},
		{"no route", broken("dial", syscall.EHOSTUNREACH), Unreachable},
		{"port closed", broken("dial", syscall.ECONNREFUSED), Refused},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := networkError(tc.err, "puppet1:8140").Reason; got != tc.want {
				t.Errorf("reason %s, want %s", got, tc.want)
			}
		})
	}
}

// broken is the error of a system call on a connection, as net/http passes it on.
func broken(op string, errno syscall.Errno) error {
	return fmt.Errorf("http: %w", &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, errno)})
}
