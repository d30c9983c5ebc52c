package front

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

func TestUserDoesNotEvictRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to connect as two users")
	}
	path := filepath.Join(t.TempDir(), "sock")
	l, err := ListenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	serve(t, l, "served", nil)
	connect := func(text string) net.Conn {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Error(err)
			return nil
		}
		t.Cleanup(func() { c.Close() })
		io.WriteString(c, text)
		return c
	}
	root := connect(begun) // the oldest request of all, and not complete
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // to the end of the thread, which stays another user
		const nobody = 65534
		if _, _, err := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, 0); err != 0 {
			t.Error(err)
			return
		}
		for range 5 * slots {
			connect(slowRequest)
		}
	}()
	<-done
	wantServed(t, connect(begun+rest)) // behind them, so they were accepted
	io.WriteString(root, rest)
	wantServed(t, root)
}
