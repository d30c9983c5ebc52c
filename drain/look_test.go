package drain_test

import (
	"fmt"
	"testing"

	"github.com/pmcheck/pmcheck/drain"
)

// TestReaderSeesAMovedHoldOnce moves a hold to the other directory after one of the
// reader's scans. Whichever scan that is, the reader sees the hold exactly once.
func TestReaderSeesAMovedHoldOnce(t *testing.T) {
	for _, from := range []bool{false, true} {
		for after := 1; after <= 4; after++ {
			t.Run(fmt.Sprintf("until reboot %t, after scan %d", from, after), func(t *testing.T) {
				s, _ := newStore(t)
				put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, UntilReboot: from})
				scans := 0
				s.SetScanned(func() {
					if scans++; scans == after {
						put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, UntilReboot: !from})
					}
				})
				if got := s.Read().Holds(); len(got) != 1 || got[0].Holder != "a" {
					t.Errorf("read %q", describe(got))
				}
				if scans < after {
					t.Errorf("only %d scans", scans)
				}
			})
		}
	}
}

// Read returns although the directories keep changing. It returns each hold as it was
// last seen, including one that the last scans missed.
func TestReadEndsAmongWriters(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, drain.Hold{Holder: "elusive", Mode: drain.Drain})
	scans := 0
	s.SetScanned(func() {
		scans++
		put(t, s, drain.Hold{Holder: "busy", Mode: drain.Maint, Reason: fmt.Sprint(scans)})
		if scans == 2*drain.MaxPasses-1 { // from the last directory to the one just scanned
			put(t, s, drain.Hold{Holder: "elusive", Mode: drain.Drain, UntilReboot: true})
		}
	})
	holds := s.Read().Holds()
	if got := describe(holds); got != "busy:maint elusive:drain" || holds[0].Reason != fmt.Sprint(scans-1) {
		t.Errorf("read %s, the reason of the first is %q", got, holds[0].Reason)
	}
	if scans != 2*drain.MaxPasses {
		t.Errorf("%d scans", scans)
	}
}
