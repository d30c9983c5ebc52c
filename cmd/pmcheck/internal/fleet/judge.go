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

// View is what the other masters of a fleet say, and what of that keeps a master from leaving.
type View struct {
	Blockers []blocker.Blocker
	Silent   []string // members that do not answer
	Serving  int      // members that answer 200
	Out      int      // members that do not serve, and are expected back
	Others   int      // all members but this master
}

// Judge counts what the other masters of a fleet say. Another master must have served for 30 s, and with this master
// out no more than maxOut may be. A silent member is named, and beside a master that serves it is not waited for: since
// when it has been silent is not known.
func Judge(others []Witness, maxOut answer.MaxOut) View {
	v := View{Others: len(others)}
	reliable := 0
	var outs []blocker.Blocker
	for _, w := range others {
		switch {
		case w.Code == 0:
			v.Silent = append(v.Silent, w.Host)
		case w.Code == http.StatusOK:
			v.Serving++
			if w.For >= servesFor {
				reliable++
			}
		case w.For < balancer.ExpectedBack:
			v.Out++
			outs = append(outs, blocker.New(blocker.Needed,
				"%s of the fleet does not serve: %d, for %s", w.Host, w.Code, text.Age(w.For)))
		default: // it is not expected back
		}
	}

	tooMany := v.Out >= maxOut.Of(len(others)+1)
	if tooMany {
		v.Blockers = outs
		return v
	}

	isAlone := len(others) == 0 // a fleet of one forbids nothing
	if reliable > 0 || isAlone {
		return v
	}
	mayServeSoon := v.Serving+v.Out+len(v.Silent) > 0
	if mayServeSoon {
		why := blocker.New(blocker.Needed, "no other master of the fleet is known to have served for %s",
			text.Duration(servesFor))
		if len(v.Silent) > 0 {
			why.Text += "; no answer from " + strings.Join(text.First(v.Silent, 4), ", ")
		}
		v.Blockers = []blocker.Blocker{why}
		return v
	}
	v.Blockers = blocker.Only(blocker.OnlyServer, "no other master of the fleet serves")
	return v
}
