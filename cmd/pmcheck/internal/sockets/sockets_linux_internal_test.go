package sockets

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

func TestIdleIsSinceTheLastByteOfEitherSide(t *testing.T) {
	info := func(kind uint16, sent, received uint32, size int) []byte {
		b := make([]byte, 240) // of today's kernels; those of 4.18 tell less
		binary.NativeEndian.PutUint32(b[44:], sent)
		binary.NativeEndian.PutUint32(b[48:], 1) // the last ACK carries nothing
		binary.NativeEndian.PutUint32(b[52:], received)
		data, err := netlink.MarshalAttributes([]netlink.Attribute{{Type: 99}, {Type: kind, Data: b[:size]}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, tt := range []struct {
		name       string
		attributes []byte
		want       time.Duration
	}{
		{"sent", info(extensionInfo, 1000, 9000, 240), time.Second},
		{"received", info(extensionInfo, 9000, 1000, 240), time.Second},
		{"too short", info(extensionInfo, 5, 5, 55), 0},
		{"another", info(98, 5, 5, 240), 0},
		{"torn", []byte{1}, 0},
	} {
		if got := idle(tt.attributes); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// FuzzSockets: whatever the kernel sends, a message is a socket with an address, or an error.
func FuzzSockets(f *testing.F) {
	ours := []byte{unix.AF_INET, established, 0, 0, 0x1f, 0xcc, 0x23, 0xf0, 127, 0, 0, 1}
	f.Add(append(ours, make([]byte, 60+8+240)...))
	f.Add([]byte{unix.AF_INET6, listening})
	f.Fuzz(func(t *testing.T, data []byte) {
		const copies = 3
		list, listeners, err := parse(slices.Repeat([]netlink.Message{{Data: data}}, copies))
		if err != nil {
			return
		}
		if len(list)+len(listeners) > copies {
			t.Errorf("%d messages are %d connections and %d listeners", copies, len(list), len(listeners))
		}
		for _, c := range list {
			if !c.Local.IsValid() || !c.Peer.IsValid() || c.Idle < 0 {
				t.Errorf("kept %+v", c)
			}
		}
	})
}

// With tcp_abort_on_overflow the kernel resets what a stopped process has not accepted; as here, where the port closes.
func TestAResetIsNoAcceptance(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	l.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	accepts, err := accepted(ctx, conn, uint16(l.Addr().(*net.TCPAddr).Port))
	if accepts || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v, %v; want an error that names the reset", accepts, err)
	}
}
