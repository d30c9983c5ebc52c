package puppetclient

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestErrorsOfSystemCallsBecomeReasons(t *testing.T) {
	for errno, want := range map[syscall.Errno]Reason{
		syscall.ECONNRESET:   ConnectionLost,
		syscall.ECONNABORTED: ConnectionLost, // as after ss -K
		syscall.EPIPE:        ConnectionLost,
		syscall.EHOSTUNREACH: Unreachable,
		syscall.ECONNREFUSED: Refused,
	} {
		op := "read"
		if want != ConnectionLost {
			op = "dial"
		}
		err := fmt.Errorf("http: %w", &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, errno)})
		if got := networkError(err, "puppet1:8140").Reason; got != want {
			t.Errorf("%s: reason %s, want %s", errno, got, want)
		}
	}
}
