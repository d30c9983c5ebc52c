package fleet

import (
	"net/http"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
)

// servesFor is how long another master must have served to be relied on.
const servesFor = 30 * time.Second

// Tally is what the other masters of a fleet say, and what of that keeps a master from leaving.
type Tally struct {
	Blockers []blocker.Blocker
	Silent   []string // members that do not answer
	Serving  int      // members that answer 200
	Out      int      // members that do not serve, and are expected back
	Others   int      // all members but this master
}

// Judge counts what the other masters of a fleet say. Another master must have served for 30 s, and with this master
// out no more than maxOut may be. A silent member is named, and beside a master that serves it is not waited for: since
// when it has been silent is not known.
func Judge(others []Witness, maxOut answer.MaxOut) Tally {
	tally := Tally{Others: len(others)}
	reliable := 0
	var outs []blocker.Blocker
	for _, w := range others {
		switch {
		case w.Code == 0:
			tally.Silent = append(tally.Silent, w.Host)
		case w.Code == http.StatusOK:
			tally.Serving++
			if w.For >= servesFor {
				reliable++
			}
		case w.For < balancer.ExpectedBack:
			tally.Out++
			outs = append(outs, blocker.New(blocker.Needed,
				"%s of the fleet does not serve: %d, for %s", w.Host, w.Code, text.Age(w.For)))
		default: // it is not expected back
		}
	}

	tooMany := tally.Out >= maxOut.Of(len(others)+1)
	if tooMany {
		tally.Blockers = outs
		return tally
	}

	isAlone := len(others) == 0 // a fleet of one forbids nothing
	if reliable > 0 || isAlone {
		return tally
	}
	mayServeSoon := tally.Serving+tally.Out+len(tally.Silent) > 0
	if mayServeSoon {
		why := blocker.New(blocker.Needed, "no other master of the fleet is known to have served for %s",
			text.Duration(servesFor))
		if len(tally.Silent) > 0 {
			why.Text += "; no answer from " + strings.Join(text.First(tally.Silent, 4), ", ")
		}
		tally.Blockers = []blocker.Blocker{why}
		return tally
	}
	tally.Blockers = blocker.Only(blocker.OnlyServer, "no other master of the fleet serves")
	return tally
}
