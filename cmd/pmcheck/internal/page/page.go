// Package page shows a Status in a browser: what balancers are told and why, who asks, the holds,
// the JRubies of the last hour, and whether the master may be restarted now.
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
		return template.Must(template.New("page").Funcs(pageFuncs()).Parse(pageHTML))
	})}
}

// Write answers a request with the page and a status code. samples are the last hour,
// oldest first; Write changes the last one. If Write returns an error, it has written nothing.
func (p *Page) Write(w http.ResponseWriter, code int, s status.Status, samples []Sample) error {
	v := newPageView(s, samples)
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

// pageView is what the template shows.
type pageView struct {
	status.Status
	Server   status.ServiceStatus // the master itself
	Tone     string               // good, note, held, bad or lost
	Headline string
	Meaning  string   // the headline, in a sentence
	May      string   // whether the master may be restarted now; empty where the headline is enough
	Because  []string // what is in the way
	Told     []told
	Asked    bool // balancers got the answers in Told; otherwise one would get them
	Icon     template.URL
	Nonce    string
	Checks   []status.CheckStatus // the probe is the first
	Counted  time.Time            // when the JRubies were counted
	JRubies  plot
	Loans    []check.Loan // the oldest at work
}

func newPageView(s status.Status, samples []Sample) *pageView {
	v := &pageView{Status: s, Server: s.Services[0], Nonce: rand.Text()}
	v.Tone, v.Headline, v.Meaning = conclusion(v.Server)
	v.Icon = icon(v.Tone)
	may, obstacles := v.Server.MayRestart()
	v.May, v.Because = may, balancer.Texts(obstacles, 5)
	v.Told = toldOf(v.Server.Name, s.Balancers)
	if v.Asked = len(v.Told) > 0; !v.Asked {
		v.Told = []told{{Code: v.Server.Answer.Code, Body: v.Server.Answer.Body}}
	}
	v.Checks = append([]status.CheckStatus{probeRow(v.Server.Verdict, s.Probe)}, v.Server.Checks...)
	pool, counted := v.Server.Pool()
	v.JRubies, v.Counted = newPlot(samples, sampleOf(pool)), counted
	if pool != nil {
		loans := slices.SortedStableFunc(slices.Values(pool.Borrowed), func(a, b check.Loan) int {
			return cmp.Compare(b.Seconds, a.Seconds)
		})
		v.Loans = loans[:min(3, len(loans))]
	}
	return v
}

// conclusion describes the state of a service: a tone, a headline, a sentence.
func conclusion(s status.ServiceStatus) (tone, headline, meaning string) {
	switch {
	case s.Mode == drain.Ready:
	case s.Leaving != drain.Firm:
		return "held", "Leaving: " + string(s.Mode), "Balancers that can do without it are told to send no new agents."
	case s.Mode == drain.Drain:
		return "held", "Out of service: drain", "Balancers are told to send no new agents; agent runs in progress finish."
	default:
		return "held", "Out of service: maint", "Balancers are told to send no agents at all."
	}
	switch s.Verdict.Health {
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

// icon returns the icon of the tab. Tones differ by shape as well as by colour.
func icon(tone string) template.URL {
	drawing := map[string]struct{ color, sign string }{
		"good": {"1a7f4b", "M4 8.5l3 3 5-6.5"},
		"note": {"b7791f", "M8 3.5v6m0 2v1.5"},
		"held": {"2f5fb3", "M6 4.5v7m4-7v7"},
		"bad":  {"c0362c", "M5 5l6 6m0-6l-6 6"},
		"lost": {"6b7280", "M6 6a2 2 0 1 1 2 2.5V10m0 2v1"},
	}[tone]
	return template.URL("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E" +
		"%3Crect width='16' height='16' rx='4' fill='%23" + drawing.color + "'/%3E%3Cpath d='" + drawing.sign +
		"' fill='none' stroke='%23fff' stroke-width='2'/%3E%3C/svg%3E")
}

// told is an answer and the balancers that got it last.
type told struct {
	Code int
	Body string
	By   []string
}

// toldOf groups the balancers of a service by what they were told last.
func toldOf(service string, balancers []status.Balancer) (list []told) {
	for _, b := range balancers {
		if b.Service != service || !b.Counts() {
			continue
		}
		code, body := b.Answer.Code, b.Answer.Body
		at := slices.IndexFunc(list, func(t told) bool { return t.Code == code && t.Body == body })
		if at < 0 {
			at, list = len(list), append(list, told{Code: code, Body: body})
		}
		list[at].By = append(list[at].By, b.Label())
	}
	return list
}

// probeRow returns the probe as a row of the table of checks.
func probeRow(v check.Verdict, p status.ProbeStatus) status.CheckStatus {
	row := status.CheckStatus{Finding: check.Finding{
		Check:    check.CheckProbe,
		Severity: check.Eject,
		State:    check.StateNone,
		Checked:  p.Asked,
		Reason:   p.Reason,
		Detail:   p.Fault,
	}}
	if p.Count == 0 {
		return row
	}
	row.Value = "took " + text.Latency(status.Seconds(p.Took))
	switch {
	case v.Reason == check.Stale: // the result has expired
	case p.Reason == "":
		row.State = check.StateOK
	default:
		row.State, row.Hint = check.StateBad, p.Reason.Hint()
	}
	return row
}

// pageFuncs returns the functions of the template.
func pageFuncs() template.FuncMap {
	return template.FuncMap{
		"ago":       func(t, now time.Time) string { return text.Age(now.Sub(t)) + " ago" },
		"lasted":    func(t, now time.Time) string { return text.Age(now.Sub(t)) },
		"clock":     text.Clock,
		"ending":    ending,
		"join":      func(list []string) string { return strings.Join(list, ", ") },
		"timeofday": func(t time.Time) string { return t.Local().Format("15:04:05 MST") },
		"rfc3339":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"seconds":   func(s float64) string { return text.Age(status.Seconds(s)) },
		"tone":      func(s status.ServiceStatus) string { tone, _, _ := conclusion(s); return tone },
		"mood":      mood,
	}
}

// ending returns when a hold ends.
func ending(h drain.Hold, now time.Time) string {
	switch {
	case h.Until.After(now):
		return "ends in " + text.Age(h.Until.Sub(now)) + " (" + text.Clock(h.Until) + ")"
	case h.UntilReboot && h.Until.IsZero():
		return "ends with the next reboot"
	case h.Until.IsZero():
		return "no end"
	}
	return "has ended"
}

// mood returns the color, as a class of the style sheet, of a check's state.
func mood(s check.State) string {
	tones := map[check.State]string{check.StateOK: "good", check.StateWarn: "note", check.StateBad: "bad"}
	return cmp.Or(tones[s], "lost")
}
