package front

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ListenTCP binds the port for balancers. TCP keep-alive is off: the server's deadlines end a dead connection
// sooner, and enabling keep-alive costs a system call for each connection.
func ListenTCP(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{KeepAlive: -1}
	l, err := config.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w (another pmcheck, or the old xinetd check? ss -ltnp shows which)", err)
	}
	return l, err
}

// ListenSocket binds the unix socket at path, which every user of the host may read. It replaces the socket of a
// daemon that has died, and nothing else.
func ListenSocket(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	removeDead(path)

	l, err := net.Listen("unix", path) // fails if anything is at path
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o666); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// removeDead removes a unix socket on which no process listens.
func removeDead(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return
	}

	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
		return
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		os.Remove(path)
	}
}
