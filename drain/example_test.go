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
		set := func(drain.Hold) (drain.Hold, error) { return hold, nil }
		if _, err := store.Change(hold.Holder, "", set); err != nil {
			log.Fatal(err)
		}
	}
	for _, holder := range []string{"upgrade", drain.Operator} {
		mode, holds := store.Read().Mode("server", time.Now())
		fmt.Printf("%s, held by %s\n", mode, holds[0].Holder)
		if _, err := store.Lift(holder, ""); err != nil {
			log.Fatal(err)
		}
	}
	mode, _ := store.Read().Mode("server", time.Now())
	fmt.Println(mode)
	// Output:
	// maint, held by upgrade
	// drain, held by operator
	// ready
}
