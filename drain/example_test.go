package drain_test

import (
	"fmt"
	"log"
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
