package drain_test

import (
	"fmt"
	"log"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// An operator and an upgrade hold the same master. It is ready when both have
// lifted their holds.
func ExampleStore() {
	dir, err := os.MkdirTemp("", "holds")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	store := &drain.Store{Persistent: filepath.Join(dir, "persistent"), UntilReboot: filepath.Join(dir, "run")}
	for _, hold := range []drain.Hold{
		{Holder: drain.Operator, Mode: drain.Drain, Reason: "kernel update"},
		{Holder: "upgrade", Mode: drain.Maint, UntilReboot: true},
	} {
		if _, err := store.Put(hold); err != nil {
			log.Fatal(err)
		}
	}
	show := func() {
		mode, holds := store.Read().Mode("server", time.Now())
		fmt.Print(mode)
		for _, h := range holds {
			fmt.Printf(", held by %s", h.Holder)
		}
		fmt.Println()
	}
	show()
	for _, holder := range []string{"upgrade", drain.Operator} {
		if _, err := store.Lift(holder, ""); err != nil {
			log.Fatal(err)
		}
		show()
	}
	// Output:
	// maint, held by upgrade
	// drain, held by operator
	// ready
}

// A master can be stopped when no connection may carry another request: one that
// has been idle for longer than [drain.Reuse] does not, and pmcheck's own do not
// count.
func ExampleInUse() {
	own := netip.MustParseAddrPort("127.0.0.1:40000")
	list := []drain.Connection{
		{Peer: own, Idle: time.Second},
		{Peer: netip.MustParseAddrPort("192.0.2.1:51000"), Idle: time.Minute},
		{Peer: netip.MustParseAddrPort("192.0.2.2:51000"), Idle: 2 * time.Second},
	}
	for _, c := range drain.InUse(list, []netip.AddrPort{own}, drain.Reuse) {
		fmt.Println(c.Peer)
	}
	// Output: 192.0.2.2:51000
}

// The condition must hold for some time without a break, not only for a moment.
func ExampleSettle() {
	settle := drain.Settle{After: 2 * time.Second}
	start := time.Now()
	for second, clear := range []bool{true, false, true, true, true} {
		fmt.Println(settle.Observe(clear, start.Add(time.Duration(second)*time.Second)))
	}
	// Output:
	// false
	// false
	// false
	// false
	// true
}
