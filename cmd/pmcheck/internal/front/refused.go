package front

import (
	"bytes"
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
)

// Refused are the clients that were refused since the daemon started.
type Refused struct {
	Allow int64 `json:"allow"` // connections from an address that is not in the setting allow, which are closed
	Limit int64 `json:"limit"` // connections of the address, or IPv6 /64, with the most, when there were too many
	// Request are the requests that were answered 400 or 405, of clients that look like balancers: they send a view, or
	// ask again and again.
	Request int64 `json:"request"`
	// Silence are the connections without a whole request, of clients that look like balancers.
	Silence int64 `json:"silence"`
	// From are the addresses that this happened to within the last hour, balancers first.
	From []RefusedClient `json:"clients,omitempty"`
}

// RefusedClient is what happened to a client, by one reason.
type RefusedClient struct {
	Source netip.Addr `json:"address"`           // of the client
	By     Reason     `json:"reason"`            // allow, limit, request or silence
	Code   int        `json:"code,omitempty"`    // the answer, if by request
	Asked  string     `json:"request,omitempty"` // what it sent last: the first line, made printable
	// Balancer is set if the client looks like one. Under allow and the limit every client does: nothing is known of it.
	Balancer bool      `json:"balancer"`
	Count    int64     `json:"count"` // how often it happened since it began
	Since    time.Time `json:"since"` // when it began
	Last     time.Time `json:"last"`  // when it happened last

	tries  int       // how often in a row it has tried: see try
	tried  time.Time // when the last of these began
	viewed bool      // it has sent a view
}

func (r RefusedClient) String() string {
	why := "it is not in allow"
	switch r.By {
	case ByLimit:
		why = "its address, or its IPv6 /64, had the most connections"
	case ByRequest:
		why = fmt.Sprintf("it asks %q, which is answered %d", r.Asked, r.Code)
	case BySilence:
		why = "it connects and sends no request, so it hears no answer"
		if r.Asked != "" {
			why = fmt.Sprintf("it sends %q, which is no whole request, so it hears no answer", r.Asked)
		}
	}
	return fmt.Sprintf("%s was refused since %s, %d×: %s", r.Source, r.Since.Local().Format(time.DateTime), r.Count, why)
}

// looksLikeBalancer reports whether the client goes on at a balancer's pace, whatever it sends. A request with
// check-send-proxy is never the same twice.
func (r RefusedClient) looksLikeBalancer() bool {
	return !r.isPaced() || r.viewed || r.tries >= balancer.TellTimes
}

// isPaced reports whether its pace says what the client is. By allow and by the limit nothing is known of it.
func (r RefusedClient) isPaced() bool { return r.By == ByRequest || r.By == BySilence }

const (
	// oneTry is how long a person's browser, or a scanner, may take for one try: several connections.
	oneTry = time.Second
	// betweenTries is the longest pause between two tries of a balancer: HAProxy with a long downinter.
	betweenTries = 5 * time.Minute
)

// askingFor is how long after it was refused a client goes on asking, as far as can be known. The usual
// balancers ask every 30 s at least.
const askingFor = 2 * time.Minute

// Balancers returns the clients that look like balancers.
func (r Refused) Balancers() (list []RefusedClient) {
	for _, f := range r.From {
		if f.Balancer {
			list = append(list, f)
		}
	}
	return list
}

// Asking returns the clients that look like balancers, and go on asking for what is refused. A departure cannot see
// what they do: most have the master DOWN, but a balancer that takes any answer for a good answer sends agents to the
// end.
func (r Refused) Asking(now time.Time) (list []RefusedClient) {
	for _, f := range r.Balancers() {
		if now.Sub(f.Last) < askingFor {
			list = append(list, f)
		}
	}
	return list
}

// maxRefusals is how many addresses are remembered, refusedFor for how long, and maxShown how many bytes of a request.
const (
	maxRefusals = 32
	refusedFor  = time.Hour
	maxShown    = 100
)

// Refusals counts what is refused. It is safe for concurrent use; its zero value is ready.
type Refusals struct {
	mu    sync.Mutex
	known Refused
}

// Note counts a client that was refused.
func (r *Refusals) Note(refused Refusal, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()

	f := r.find(refused.Client, refused.By, now)
	switch refused.By {
	case ByRequest:
		if !f.ask(refused) {
			return
		}
	case BySilence:
		f.Asked = silence(refused.Asked)
	}
	if f.isPaced() {
		f.try(now)
	}
	f.Count++
	f.Last = now
	if f.looksLikeBalancer() {
		*r.known.count(refused.By)++
	}
}

// count returns the counter of a reason.
func (r *Refused) count(by Reason) *int64 {
	switch by {
	case ByAllow:
		return &r.Allow
	case ByLimit:
		return &r.Limit
	case ByRequest:
		return &r.Request
	default:
		return &r.Silence
	}
}

// try notes that the client has tried. What happens within oneTry is one try.
func (r *RefusedClient) try(now time.Time) {
	since := now.Sub(r.tried)
	if since < oneTry {
		return
	}
	if since > betweenTries {
		r.tries = 0
	}
	r.tries++
	r.tried = now
}

// find returns what is known of a client. A new client takes the place of the client that was refused the longest ago.
func (r *Refusals) find(source netip.Addr, by Reason, now time.Time) *RefusedClient {
	from := r.known.From
	at := slices.IndexFunc(from, func(f RefusedClient) bool { return f.Source == source && f.By == by })
	if at >= 0 {
		return &from[at]
	}

	if len(from) == maxRefusals {
		oldest := slices.MinFunc(from, func(a, b RefusedClient) int { return a.Last.Compare(b.Last) })
		from = slices.DeleteFunc(from, func(f RefusedClient) bool { return f == oldest })
	}
	r.known.From = append(from, RefusedClient{Source: source, By: by, Since: now})
	return &r.known.From[len(r.known.From)-1]
}

// ask notes a request that was refused, and reports whether it counts. Beside a balancer that sends its view, other
// requests from its address do not: a person is at work there.
func (r *RefusedClient) ask(refused Refusal) bool {
	viewed := bytes.Contains(bytes.ToLower(refused.Asked), []byte("\n"+strings.ToLower(balancer.StateHeader)+":"))
	if r.viewed && !viewed {
		return false
	}

	r.Asked = firstLine(refused.Asked)
	r.Code = refused.Code
	r.viewed = viewed
	return true
}

// silence returns what a client sent that sent no whole request; empty if nothing.
func silence(asked []byte) string {
	if len(asked) == 0 {
		return ""
	}
	return firstLine(asked)
}

// firstLine returns what was asked, for a reader.
func firstLine(asked []byte) string {
	if IsTLS(asked) {
		return "TLS instead of HTTP"
	}
	line, _, _ := bytes.Cut(asked, []byte("\n"))
	return cmp.Or(text.Printable(string(line), maxShown), "no HTTP")
}

// At returns what is known at now: balancers first, and the clients that were refused most often before others.
func (r *Refusals) At(now time.Time) Refused {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.known.From = slices.DeleteFunc(r.known.From, func(f RefusedClient) bool { return now.Sub(f.Last) >= refusedFor })

	known := r.known
	known.From = slices.Clone(known.From)
	for i := range known.From {
		known.From[i].Balancer = known.From[i].looksLikeBalancer()
	}
	slices.SortStableFunc(known.From, func(a, b RefusedClient) int {
		if a.Balancer != b.Balancer {
			if a.Balancer {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Count, a.Count)
	})
	return known
}
