package drain_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

const (
	kills    = 500
	shortOne = "a"
)

// longOne is long enough for a torn file to be noticed.
var longOne = strings.Repeat("b", 20<<10)

// toggle changes holds for ever. At any moment the operator's is one of two,
// in one directory or the other; the one of "upgrade" comes and goes. It says
// when it begins.
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

// checkToggled fails unless snap is a state that toggle made whole.
func checkToggled(t *testing.T, snap drain.Snapshot) {
	t.Helper()
	operator := 0
	for _, h := range snap.Holds() {
		switch {
		case h.Code != "":
			t.Errorf("torn: %+v", h)
		case h.Holder == "operator" && (h.Mode == drain.Drain && h.Reason == shortOne || h.Mode == drain.Maint && h.Reason == longOne):
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

// TestKill kills a process that writes as fast as it can, over and over. What
// it leaves is a whole state, before the kill as after it.
func TestKill(t *testing.T) {
	s, _ := newStore(t)
	s.Now = nil
	put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: shortOne})
	leftovers := 0
	for range kills {
		cmd := child(t, s, "toggle")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		var watching sync.WaitGroup
		done := make(chan struct{})
		watching.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					checkToggled(t, s.Read())
				}
			}
		})
		_, err = out.Read(make([]byte, 1))
		must(t, err)
		time.Sleep(rand.N(10 * time.Millisecond)) // the moment of the kill
		must(t, cmd.Process.Kill())
		said, _ := io.ReadAll(out)
		_ = cmd.Wait()
		close(done)
		watching.Wait()
		if len(said) > 0 {
			t.Fatalf("ended before the kill: %s", said)
		}
		checkToggled(t, s.Read())
		leftovers += len(temporaries(t, s.Persistent)) + len(temporaries(t, s.UntilReboot))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d temporary files seen after %d kills", leftovers, kills)
	put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: shortOne})
	if left := append(temporaries(t, s.Persistent), temporaries(t, s.UntilReboot)...); len(left) != 0 {
		t.Errorf("left %q", left)
	}
}
