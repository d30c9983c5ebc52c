package drain_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

const (
	killers  = 2
	kills    = 60 // by each
	shortOne = "a"
)

// longOne is long enough for a torn file to be noticed.
var longOne = strings.Repeat("b", 20<<10)

// toggle changes holds for ever. The operator's alternates between two and changes the directory,
// so that for a moment it may be in both; the hold of "upgrade" is put and lifted. toggle prints
// "!" when it begins.
func toggle(s *drain.Store) error {
	fmt.Print("!")
	for n := 0; ; n++ {
		h := drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: shortOne}
		if n%2 == 0 {
			h = drain.Hold{Holder: "operator", Mode: drain.Maint, Reason: longOne, UntilReboot: n%4 == 0}
		}
		if _, err := s.Put(h); err != nil {
			return err
		}
		if _, err := s.Put(drain.Hold{Holder: "upgrade", Service: "ca", Mode: drain.Maint, Reason: longOne}); err != nil {
			return err
		}
		if _, err := s.Lift("upgrade", "ca"); err != nil {
			return err
		}
	}
}

// checkToggled fails the test unless snap is a complete state that toggle wrote.
func checkToggled(t *testing.T, snap drain.Snapshot) {
	t.Helper()
	operator := 0
	for _, h := range snap.Holds() {
		switch {
		case h.Code != "":
			t.Errorf("torn: %+v", h)
		case h.Holder == "operator" && (h.Mode == drain.Drain && h.Reason == shortOne || h.Mode == drain.Maint &&
			h.Reason == longOne):
			operator++
		case h.Holder != "upgrade" || h.Service != "ca" || h.Mode != drain.Maint || h.Reason != longOne:
			t.Errorf("unknown hold %s", describe([]drain.Hold{h}))
		}
	}
	// A process killed between writing one and removing the other leaves both.
	if mode, _ := snap.Mode("", time.Now()); operator == 0 || operator > 2 || mode == drain.Ready {
		t.Errorf("mode %s by %s", mode, describe(snap.Holds()))
	}
}

// TestKilledWriterLeavesAWholeState repeatedly kills a process that writes as fast as it
// can. The holds are a complete state both before and after the kill.
func TestKilledWriterLeavesAWholeState(t *testing.T) {
	for n := range killers {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			s, _ := newStore(t)
			s.Now = nil
			put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: shortOne})
			for i := 0; i < kills && !t.Failed(); i++ {
				killOne(t, s, i%2 == 0)
				checkToggled(t, s.Read())
			}
		})
	}
}

// killOne starts a writer and kills it at a random moment. If look is set, it reads the
// holds until then, which slows the writer down.
func killOne(t *testing.T, s *drain.Store, look bool) {
	t.Helper()
	cmd := child(t, s, "toggle")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	_, err = out.Read(make([]byte, 1))
	must(t, err)

	moment := rand.N(10 * time.Millisecond)
	if look {
		for end := time.Now().Add(moment); time.Now().Before(end); {
			checkToggled(t, s.Read())
		}
	} else {
		time.Sleep(moment)
	}
	must(t, cmd.Process.Kill())
	if said, _ := io.ReadAll(out); len(said) > 0 {
		t.Errorf("ended before the kill: %s", said)
	}
	_ = cmd.Wait()
}
