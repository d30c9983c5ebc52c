// Package page shows a Status in a browser: what balancers are told, why and since when, whether the
// master may be restarted now; and below that the holds, the balancers, the JRubies of the last hour,
// the certificates and the checks.
package page

import (
	"bytes"
	"cmp"
	"crypto/rand"
	_ "embed"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

//go:embed page.html
var pageHTML string

// Page shows a status in a browser. It is one document that loads nothing, sets no
// cookies and can change nothing. It is safe for concurrent use.
type Page struct{ parsed func() *template.Template }

// New returns a page. Its template is parsed with the first request.
func New() *Page {
	return &Page{parsed: sync.OnceValue(func() *template.Template {
		return template.Must(template.New("page").Parse(pageHTML))
	})}
}

// Write answers a request with the page and a status code. samples are the last hour,
// oldest first; Write changes the last one. If Write returns an error, it has written nothing.
func (p *Page) Write(w http.ResponseWriter, code int, s status.Status, samples []Sample) error {
	v := newView(s, samples)
	var body bytes.Buffer
	if err := p.parsed().Execute(&body, v); err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+v.Nonce+"'; script-src 'nonce-"+v.Nonce+
		"'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	header.Set("Vary", "Accept")
	w.WriteHeader(code)
	w.Write(body.Bytes())
	return nil
}

// view is what the template shows. Its methods are the template's functions.
type view struct {
	status.Status
	Server   status.ServiceStatus // the master itself
	Tone     string               // good, note, held, bad or lost
	Headline string
	Meaning  string   // the headline, in a sentence
	May      string   // whether the master may be restarted now; empty where the headline is enough
	Because  []string // what is in the way
	Nonce    string
	Counted  time.Time // when the JRubies were counted
	JRubies  plot
	Loans    []check.Loan // the oldest at work
}

func newView(s status.Status, samples []Sample) *view {
	v := &view{Status: s, Server: s.Services[0], Nonce: rand.Text()}
	v.Tone, v.Headline, v.Meaning = conclusion(s)
	may, obstacles := v.Server.MayRestart()
	v.May, v.Because = may, balancer.Texts(obstacles, 5)
	pool, counted := v.Server.Pool()
	v.JRubies, v.Counted = newPlot(samples, sampleOf(pool)), counted
	if pool != nil {
		v.Loans = slices.SortedStableFunc(slices.Values(pool.Borrowed), func(a, b check.Loan) int {
			return cmp.Compare(b.Seconds, a.Seconds)
		})
		v.Loans = v.Loans[:min(3, len(v.Loans))]
	}
	return v
}

// conclusion describes the state of the master: a tone, a headline, a sentence.
func conclusion(s status.Status) (tone, headline, meaning string) {
	server := s.Services[0]
	by := "Held by " + strings.Join(s.Holders(server), ", ") + ": "
	switch {
	case server.Mode == drain.Ready:
	case server.Leaving != drain.Firm:
		return "held", "Leaving: " + string(server.Mode),
			by + "balancers that can do without it are told to send no new agents."
	case server.Mode == drain.Drain:
		return "held", "Out of service: drain",
			by + "balancers are told to send no new agents; agent runs in progress finish."
	default:
		return "held", "Out of service: maint", by + "balancers are told to send no agents at all."
	}
	if server.Serves() && len(s.Balancers) == 0 && len(s.Silent)+len(s.Refused.From) > 0 {
		return "note", "In service, but no balancer asks", "Whether agents reach it is not known: see the warnings."
	}
	switch server.Verdict.Health {
	case check.Healthy:
		return "good", "In service", "Balancers are told to send agents."
	case check.Busy:
		return "note", "In service, busy", "Balancers are told to send agents; they are served slowly."
	case check.Warming:
		return "note", "Out of service: warming", "It will serve agents soon; until then balancers are told to send none."
	case check.Unhealthy:
		return "bad", "Out of service: unhealthy", "Agents would fail; balancers are told to send none."
	}
	return "lost", "Out of service: unknown",
		"It is not known whether agents would be served; balancers are told to send none."
}

// Ago returns how long ago a time was.
func (v *view) Ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return v.For(t) + " ago"
}

// For returns how long something has lasted.
func (v *view) For(since time.Time) string { return text.Age(v.Time.Sub(since)) }

// Clock returns a time in the local time zone.
func (v *view) Clock(t time.Time) string { return text.Clock(t) }

// Age returns a number of seconds as a duration.
func (v *view) Age(seconds float64) string { return text.Age(status.Seconds(seconds)) }

// Took returns how long the probe took.
func (v *view) Took() string { return text.Latency(status.Seconds(v.Probe.Took)) }

// When returns how far away a time is, and the time.
func (v *view) When(t time.Time) string {
	if left := t.Sub(v.Time); left > 0 {
		return "in " + text.Age(left) + " (" + text.Clock(t) + ")"
	}
	return v.Ago(t) + " (" + text.Clock(t) + ")"
}

// Mood returns the colour, as a class of the style sheet, of a check's state.
func (v *view) Mood(s check.State) string {
	tones := map[check.State]string{check.StateOK: "good", check.StateWarn: "note", check.StateBad: "bad"}
	return cmp.Or(tones[s], "lost")
}

// Expires returns the colour of a certificate or CRL.
func (v *view) Expires(e status.Expiry) string {
	switch left := e.Until.Sub(v.Time); {
	case left <= 0:
		return "bad"
	case left < check.ExpiryMargin(check.ExpiryWarn, e.From, e.Until):
		return "note"
	}
	return "good"
}
