package front

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// DeferAccept is how many seconds the kernel holds back a connection on which no byte
// has arrived. A balancer sends its request at once; a client that sends nothing costs
// the daemon nothing.
const DeferAccept = 2

// ListenTCP binds the port for balancers. The kernel hands over a new connection after
// DeferAccept seconds or when the first byte arrives. TCP keep-alive is
// off: the server's deadlines end a dead connection sooner, and enabling keep-alive
// costs a system call for each connection.
func ListenTCP(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{
		KeepAlive: -1,
		Control:   func(_, _ string, c syscall.RawConn) error { return deferAccept(c, DeferAccept) },
	}
	l, err := config.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w (another pmcheck, or the old xinetd check? ss -ltnp shows which)", err)
	}
	return l, err
}

// ListenSocket binds the unix socket at path. It replaces the socket of a daemon
// that has died, and nothing else. The socket appears under its name only once
// its permissions are set: every user of the host may read the status.
func ListenSocket(path string) (net.Listener, error) {
	if err := vacant(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	temporary := fmt.Sprintf("%s.%d", path, os.Getpid())
	os.Remove(temporary)
	l, err := net.Listen("unix", temporary)
	if err != nil {
		return nil, err
	}
	err = errors.Join(os.Chmod(temporary, 0o666), os.Rename(temporary, path))
	if err != nil {
		l.Close()
		return nil, err
	}
	return &socket{Listener: l, path: path}, nil
}

// vacant returns an error unless path does not exist, or is a socket on which no process
// listens.
func vacant(path string) error {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is not a socket: remove it", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		c.Close()
		return fmt.Errorf("another pmcheck answers on %s", path)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// socket is a unix listener that was renamed, so it has to be removed under
// its new name.
type socket struct {
	net.Listener
	path    string
	closing sync.Once
}

// Close removes the socket and stops listening. Only the first call does: net/http closes
// a listener again, and by then the file may belong to another daemon.
func (s *socket) Close() (err error) {
	s.closing.Do(func() { err = errors.Join(os.Remove(s.path), s.Listener.Close()) })
	return err
}
