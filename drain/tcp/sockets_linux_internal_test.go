//go:build linux

package tcp

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
)

func TestIdleIsSinceTheLastByteOfEitherSide(t *testing.T) {
	info := func(sent, received uint32) []byte {
		b := make([]byte, 240) // of today's kernels; those of 4.18 tell less
		binary.NativeEndian.PutUint32(b[44:], sent)
		binary.NativeEndian.PutUint32(b[48:], 1) // the last ACK carries nothing
		binary.NativeEndian.PutUint32(b[52:], received)
		return b
	}
	const other = extensionInfo + 1
	for _, tt := range []struct {
		name       string
		attributes []netlink.Attribute
		want       time.Duration
	}{
		{"sent", []netlink.Attribute{{Type: extensionInfo, Data: info(1000, 9000)}}, time.Second},
		{"received", []netlink.Attribute{{Type: extensionInfo, Data: info(9000, 1000)}}, time.Second},
		{"after another", []netlink.Attribute{{Type: other}, {Type: extensionInfo, Data: info(5, 5)}}, 5 * time.Millisecond},
		{"too short", []netlink.Attribute{{Type: extensionInfo, Data: info(5, 5)[:55]}}, 0},
		{"another", []netlink.Attribute{{Type: other, Data: info(5, 5)}}, 0},
		{"none", nil, 0},
	} {
		data, err := netlink.MarshalAttributes(tt.attributes)
		if err != nil {
			t.Fatal(err)
		}
		if got := idle(data); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if got := idle([]byte{1}); got != 0 {
		t.Errorf("torn: %s", got)
	}
}
