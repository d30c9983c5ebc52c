//go:build linux

package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BridgeAddress is the address a Network itself has, and so the one programs
// started in it have: the balancers and the load generators. Its hosts follow.
// The block is the one set aside for benchmarks.
const BridgeAddress = "198.18.0.1"

// networkScript makes the bridge, and a file system in memory for what the
// hosts write: an overlay cannot be stacked on just any file system. Empty
// control groups are all that a killed test leaves, and it takes those away, if
// no other network is just doing the same.
const networkScript = `set -e
ip link set lo up
ip link add lab0 type bridge
ip address add ` + BridgeAddress + `/15 dev lab0
ip link set lab0 up
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir "$1/cgroup"
mount -t cgroup2 cgroup2 "$1/cgroup"
for group in "$1"/cgroup/pmcheck-lab.*; do
    pid=${group##*/pmcheck-lab.} pid=${pid%%.*}
    [ ! -d "$group" ] || [ -d "/proc/$pid" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || :
done
echo ready
exec sleep infinity
`

// A Network is a network namespace with a bridge that hosts are plugged into.
// It has no way to the machine's own network. A nil Network is the machine's
// own, where a method says so.
type Network struct {
	tb     testing.TB
	dir    string   // in the mount namespace of keeper: memory for the hosts
	keeper *process // keeps both namespaces
	hosts  []*Host
	links  int // made so far, for their names
}

// StartNetwork makes a network. It vanishes with the test.
func StartNetwork(tb testing.TB) *Network {
	tb.Helper()
	Need(tb, "ip", "iproute2")
	Need(tb, "nsenter", "util-linux")
	n := &Network{tb: tb, dir: tempDir(tb)}
	log := filepath.Join(tempDir(tb), "network.log")
	showOnFailure(tb, log)
	cmd := exec.Command("sh", "-c", networkScript, "sh", n.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWNET,
		Unshareflags: syscall.CLONE_NEWNS, // and private, as Go makes it
	}
	n.keeper = start(tb, cmd, log)
	WaitFor(tb, 10*time.Second, 5*time.Millisecond, func() error {
		if err := n.keeper.died(); err != nil {
			tb.Fatal(err)
		}
		if out := tail(log, 1); out != "ready" {
			return fmt.Errorf("network: %q", out)
		}
		return nil
	})
	return n
}

// Command is exec.Command inside the network; a nil Network is the machine's own.
func (n *Network) Command(program string, args ...string) *exec.Cmd {
	if n == nil {
		return exec.Command(program, args...)
	}
	return exec.Command("nsenter", append([]string{"--net=" + n.namespace("net"), "--", program}, args...)...)
}

// DialContext connects from inside the network, to a numeric address. It fits
// http.Transport and may be called concurrently.
func (n *Network) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	err := inNamespace(n.namespace("net"), func() (err error) {
		conn, err = (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Inside calls fn on a thread that is in the network. The sockets and devices that
// fn opens stay there.
func (n *Network) Inside(fn func() error) error { return inNamespace(n.namespace("net"), fn) }

// inNamespace calls fn on a thread that is in the network namespace at path
// meanwhile: a socket stays in the namespace it was made in.
func inNamespace(path string, fn func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer home.Close()
	there, err := os.Open(path)
	if err != nil {
		return err
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter %s: %w", path, err)
	}
	defer func() {
		if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(fmt.Sprintf("a thread is lost in %s: %v", path, err))
		}
	}()
	return fn()
}

func (n *Network) namespace(kind string) string {
	return fmt.Sprintf("/proc/%d/ns/%s", n.keeper.cmd.Process.Pid, kind)
}

// inside returns the path by which this process reaches a file of the
// keeper's mount namespace.
func (n *Network) inside(name string) string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", n.keeper.cmd.Process.Pid), n.dir, name)
}

// hostsFile is /etc/hosts of every host.
func (n *Network) hostsFile() string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	for _, h := range n.hosts {
		fmt.Fprintf(&b, "%s %s %s\n", h.Address, h.FQDN(), h.Name)
	}
	return b.String()
}
