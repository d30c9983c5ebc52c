package tcp_test

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/pmcheck/pmcheck/drain/tcp"
)

// A master can be stopped when no connection may carry another request: one that
// has been idle for longer than [tcp.Reuse] does not, and pmcheck's own do not
// count.
func ExampleInUse() {
	own := netip.MustParseAddrPort("127.0.0.1:40000")
	list := []tcp.Connection{
		{Peer: own, Idle: time.Second},
		{Peer: netip.MustParseAddrPort("192.0.2.1:51000"), Idle: time.Minute},
		{Peer: netip.MustParseAddrPort("192.0.2.2:51000"), Idle: 2 * time.Second},
	}
	for _, c := range tcp.InUse(list, []netip.AddrPort{own}, tcp.Reuse) {
		fmt.Println(c.Peer)
	}
	// Output: 192.0.2.2:51000
}
