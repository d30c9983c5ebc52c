package puppetclient

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestErrorsOfSystemCallsBecomeReasons(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want Reason
	}{
		{"reset by the peer", broken("read", syscall.ECONNRESET), ConnectionLost},
		{"killed by an administrator, as with ss -K", broken("read", syscall.ECONNABORTED), ConnectionLost},
		{"write after the peer closed", broken("write", syscall.EPIPE), ConnectionLost},
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

// broken returns the error of a system call on a connection in the form in which
// net/http passes it on.
func broken(op string, errno syscall.Errno) error {
	return fmt.Errorf("http: %w", &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, errno)})
}
