//go:build linux

package faults_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A wire is a bad connection between the balancer and the host: packets are delayed, and
// some are lost.
type wire struct {
	delay, jitter time.Duration // one way
	loss          float64       // probability that a packet is lost, one way
}

// route makes an address reachable through the new device. It is added again for each wire,
// since the kernel removes it with the device.
const route = `ip link set wire0 up; ip route add "$1" dev wire0 src "$2"`

// lay connects balancer and host with the wire instead of the bridge, and returns a function
// that removes it.
func (w wire) lay(s *faultSite) (cut func()) {
	s.t.Helper()
	near, far := s.device(s.Net.Inside), s.device(s.Host.Inside)
	go w.carry(near, far)
	go w.carry(far, near)
	if out, err := s.Net.Command("sh", "-ec", route, "sh", s.Host.Address, balancer).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	s.Host.MustRun("sh", "-ec", route, "sh", balancer, s.Host.Address)
	return func() {
		near.Close()
		far.Close()
	}
}

// device makes a network device whose packets are read from and written to a file.
func (s *faultSite) device(inside func(func() error) error) (file *os.File) {
	s.t.Helper()
	err := inside(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return os.NewSyscallError("open /dev/net/tun", err)
		}
		request, err := unix.NewIfreq("wire0")
		if err == nil {
			request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = os.NewSyscallError("TUNSETIFF", unix.IoctlIfreq(fd, unix.TUNSETIFF, request))
		}
		file = os.NewFile(uintptr(fd), "wire0") // only now, since a descriptor without a device cannot be polled
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { file.Close() })
	return file
}

// carry forwards packets from one end to the other until one of them is closed.
func (w wire) carry(from, to *os.File) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if rand.Float64() < w.loss {
			continue
		}
		packet := bytes.Clone(buffer[:n])
		time.AfterFunc(w.delay+time.Duration(rand.Float64()*float64(w.jitter)), func() { to.Write(packet) })
	}
}
