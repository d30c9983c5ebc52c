package lab

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// namespaceEnv holds the inode of the network namespace that a test process has made for
// itself, and the file descriptor of the one it was started in: "4026532281 3".
const namespaceEnv = "LAB_NAMESPACE"

// Main must be called by TestMain of a package that starts real programs. It enters a
// network namespace, runs the tests and exits.
func Main(m *testing.M) {
	Enter()
	WatchStarvation()
	os.Exit(m.Run())
}

// Enter moves this process to a network namespace of its own, by executing the program
// again in it. Nothing else listens there, so addresses can be fixed and test processes
// cannot disturb each other or the machine. The kernel removes the namespace with the last
// process in it, however the tests end.
//
// Enter must be called before the tests start. It returns in the new namespace or, without
// the privileges to make one, in the old one; Real then fails each test.
func Enter() {
	if os.Geteuid() != 0 || inOwnNamespace() {
		return
	}
	if err := enter(); err != nil {
		fmt.Fprintf(os.Stderr, "lab: no network namespace: %v\n", err)
	}
}

func enter() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // exec below makes this thread the whole process
	defer runtime.UnlockOSThread()
	home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY, 0) // stays open over exec
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("ip link: %w: %s", err, out)
	}
	id, err := namespaceID()
	if err != nil {
		return err
	}
	return syscall.Exec(self, os.Args, append(os.Environ(), fmt.Sprintf("%s=%d %d", namespaceEnv, id, home)))
}

// inOwnNamespace reports whether this process runs in a namespace that Enter has made, here
// or in a parent process.
func inOwnNamespace() bool {
	want, home, _ := strings.Cut(os.Getenv(namespaceEnv), " ")
	id, err := namespaceID()
	if err != nil || want != strconv.FormatUint(id, 10) {
		return false
	}
	if fd, err := strconv.Atoi(home); err == nil {
		unix.CloseOnExec(fd) // programs that tests start must not inherit it
	}
	return true
}

func namespaceID() (uint64, error) {
	var stat unix.Stat_t
	err := unix.Stat("/proc/thread-self/ns/net", &stat)
	return stat.Ino, err
}

// outside calls fn on a thread in the network that the test process was started in.
func outside(fn func() error) error {
	_, home, found := strings.Cut(os.Getenv(namespaceEnv), " ")
	if !found {
		return fn()
	}
	return inNamespace("/proc/self/fd/"+home, fn)
}

// lastPort counts the ports that Address has returned, from 10000 on. The kernel picks
// ports for outgoing connections from 32768 on.
var lastPort atomic.Int32

// Address returns ip with a TCP port that no other call returns. The port is free
// because nothing else listens in the network namespace that Enter has made.
func Address(tb testing.TB, ip string) string {
	tb.Helper()
	if !inOwnNamespace() {
		tb.Fatal("no network namespace: TestMain must call lab.Main and run as root")
	}
	return net.JoinHostPort(ip, strconv.Itoa(10000+int(lastPort.Add(1))))
}

// Port returns the port of an address, host:port.
func Port(tb testing.TB, address string) string {
	tb.Helper()
	_, port, err := net.SplitHostPort(address)
	Must(tb, err)
	return port
}
