package drain_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// A party holds a master in drain, and lifts its hold when its work is done.
func Example() {
	dir, err := os.MkdirTemp("", "holds")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store := &drain.Store{
		Persistent:  filepath.Join(dir, "holds"),
		UntilReboot: filepath.Join(dir, "run"),
	}
	if err := store.MakeUntilReboot(); err != nil {
		panic(err)
	}

	kernel := func(drain.Hold) (drain.Hold, error) {
		return drain.Hold{Mode: drain.Drain, Reason: "kernel update"}, nil
	}
	if _, err := store.Change("upgrade", "", kernel); err != nil {
		panic(err)
	}
	mode, by := store.Read().Mode("server", time.Now())
	fmt.Println(mode, by[0].Holder, by[0].Reason)

	if _, err := store.Lift("upgrade", ""); err != nil {
		panic(err)
	}
	mode, _ = store.Read().Mode("server", time.Now())
	fmt.Println(mode)
	// Output:
	// drain upgrade kernel update
	// ready
}
