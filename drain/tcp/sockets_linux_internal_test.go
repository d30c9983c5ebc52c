package tcp

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
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
