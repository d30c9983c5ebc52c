package client_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
)

// A user whose connections fill the queue of the socket does not keep a command out.
func TestAFullQueueIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sock")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(t, err)
	must(t, errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Listen(fd, 0)))
	l, err := net.FileListener(os.NewFile(uintptr(fd), path))
	must(t, err)
	defer l.Close()
	first, err := net.Dial("unix", path)
	must(t, err)
	defer first.Close()
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		t.Fatal("the queue is not full")
	}
	time.AfterFunc(50*time.Millisecond, func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	})
	if _, err := (client.Daemon{Socket: path}).Status(t.Context()); err != nil {
		t.Error(err)
	}
}
