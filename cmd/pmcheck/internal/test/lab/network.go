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
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BridgeAddress is the address of a Network itself, and so of the balancers and load
// generators that are started in it. Its hosts have the addresses after that. The block is
// reserved for benchmarks (RFC 2544).
const BridgeAddress = "198.18.0.1"

// networkScript makes the bridge, and a tmpfs for the files that the hosts write, since not
// every file system can be the upper layer of an overlay. A killed test leaves nothing
// behind but empty control groups. The script removes them, and ignores errors, since
// another network may be removing the same ones.
//
// A bridge without a hardware address of its own takes the lowest one of its links. It would
// change with a host that boots, and the other hosts would send to the old one for seconds.
const networkScript = `set -e
ip link set lo up
ip link add lab0 address 02:00:c6:12:00:01 type bridge
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

// A Network is a network namespace with a bridge to which hosts are connected. It has no
// route to the machine's own network. For methods that document it, a nil Network is the
// machine's own network.
type Network struct {
	tb     testing.TB
	dir    string   // in the mount namespace of keeper: the tmpfs for the hosts
	keeper *process // keeps both namespaces
	hosts  []*Host
	links  atomic.Int64 // number of links made so far, for their names
}

// StartNetwork makes a network, which is removed when the test ends.
func StartNetwork(tb testing.TB) *Network {
	tb.Helper()
	Need(tb, "ip", "iproute2")
	Need(tb, "nsenter", "util-linux")
	n := &Network{tb: tb, dir: tempDir(tb)}
	cmd := exec.Command("sh", "-c", networkScript, "sh", n.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWNET,
		Unshareflags: syscall.CLONE_NEWNS, // Go also makes its mounts private
	}
	n.keeper = startKeeper(tb, cmd)
	return n
}

// startKeeper starts a script that keeps namespaces, and waits until it has printed "ready".
func startKeeper(tb testing.TB, cmd *exec.Cmd) *process {
	tb.Helper()
	log := filepath.Join(tempDir(tb), "keeper.log")
	keeper := start(tb, cmd, log)
	WaitFor(tb, 30*time.Second, 5*time.Millisecond, func() error {
		Must(tb, keeper.died())
		if out := tail(log, 1); out != "ready" {
			return fmt.Errorf("%v: %q", cmd.Args, out)
		}
		return nil
	})
	return keeper
}

// Command returns a command that runs inside the network. A nil Network is the machine's own.
func (n *Network) Command(program string, args ...string) *exec.Cmd {
	if n == nil {
		return exec.Command(program, args...)
	}
	return exec.Command("nsenter", append([]string{"--net=" + n.namespace("net"), "--", program}, args...)...)
}

// DialContext connects from inside the network to a numeric address. It can be used in an
// http.Transport, and is safe for concurrent use.
func (n *Network) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return n.Dial(ctx, net.Dialer{Timeout: 2 * time.Second}, network, address)
}

// Dial is DialContext with another dialer.
func (n *Network) Dial(ctx context.Context, dialer net.Dialer, network, address string) (conn net.Conn, err error) {
	err = n.Inside(func() (err error) {
		conn, err = dialer.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Inside calls fn on a thread that is in the network. The sockets and devices that
// fn opens stay there. A nil Network is the machine's own.
func (n *Network) Inside(fn func() error) error {
	if n == nil {
		return fn()
	}
	return inNamespace(n.namespace("net"), fn)
}

// inNamespace calls fn on a thread that is in the network namespace at path until fn
// returns. A socket stays in the namespace in which it was made.
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

// hostsFile returns the content of /etc/hosts for every host.
func (n *Network) hostsFile() string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	for _, h := range n.hosts {
		fmt.Fprintf(&b, "%s %s %s\n", h.Address, h.FQDN(), h.Name)
	}
	return b.String()
}
