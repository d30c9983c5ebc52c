// Package page shows a Status in a browser, with the last hour and the commands
// that fit the state.
package page

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
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
// oldest first. If Write returns an error, it has written nothing.
func (p *Page) Write(w http.ResponseWriter, code int, s api.Status, samples []Sample) error {
	v := newPageView(s, api.OwnNames(), samples)
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
	api.Status
	Server    api.ServiceStatus // the master itself
	Tone      string            // good, note, held, bad or lost
	Headline  string
	Meaning   string // the headline, in a sentence
	Hero      hero
	Others    []master // of the pool
	Icon      template.URL
	Nonce     string
	Checks    []api.CheckStatus // the probe is the first
	Plots     []plot
	Loans     []check.Loan // the oldest at work
	Lifetimes []lifetime
	Next      []step
	Sending   int // balancers that send new sessions
	Sessions  int // sessions that balancers have with the master
}

func newPageView(s api.Status, names []string, samples []Sample) *pageView {
	v := &pageView{
		Status:    s,
		Server:    s.Services[0],
		Nonce:     rand.Text(),
		Plots:     plots(samples),
		Lifetimes: lifetimes(s),
		Next:      nextSteps(s),
		Hero:      newHero(s),
		Others:    others(s, names),
	}
	v.Tone, v.Headline, v.Meaning = conclusion(v.Server)
	v.Icon = icon(v.Tone)
	for _, b := range s.Balancers {
		if b.View == nil {
			continue
		}
		v.Sessions += b.View.Sessions
		if b.View.Sends() {
			v.Sending++
		}
	}
	v.Checks = append([]api.CheckStatus{probeRow(v.Server.Verdict, s.Probe)}, v.Server.Checks...)
	if pool, _ := v.Server.Pool(); pool != nil {
		v.Loans = oldest(pool.Borrowed, 3)
	}
	return v
}

// conclusion describes the state of a service: a tone, a headline, a sentence.
func conclusion(s api.ServiceStatus) (tone, headline, meaning string) {
	switch s.Mode {
	case drain.Ready:
	case drain.Drain:
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

// lifetime is a certificate or a CRL, and when it ends.
type lifetime struct {
	Name, Of string
	Ends     time.Time
	State    check.State
}

// lifetimes marks what ends soon. The margin is fixed: expiry.warn applies to the check only.
func lifetimes(s api.Status) (list []lifetime) {
	add := func(name, of string, begins, ends time.Time) {
		state := check.StateOK
		switch left := ends.Sub(s.Time); {
		case left <= 0:
			state = check.StateBad
		case left < check.ExpiryMargin(check.ExpiryWarn, begins, ends):
			state = check.StateWarn
		}
		list = append(list, lifetime{name, of, ends, state})
	}
	if t := s.Probe.TLS; t != nil {
		add("certificate in use", t.Server.Subject, t.Server.NotBefore, t.Server.NotAfter)
	}
	if own := s.Probe.Own; own != nil {
		add("certificate on disk", own.Subject, own.NotBefore, own.NotAfter)
	}
	for _, ca := range s.Probe.CAs {
		add("CA", ca.Subject, ca.NotBefore, ca.NotAfter)
	}
	for _, crl := range s.Probe.CRLs {
		add("CRL", crl.Issuer, crl.Updated, crl.Expires)
	}
	return list
}

// probeRow returns the probe as a row of the table of checks.
func probeRow(v check.Verdict, p api.ProbeStatus) api.CheckStatus {
	row := api.CheckStatus{Finding: check.Finding{
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
	row.Value = "took " + text.Latency(api.Seconds(p.Took))
	if p.HTTP > 0 {
		row.Value += fmt.Sprintf(", status %d", p.HTTP)
	}
	if p.TLS != nil {
		row.Value += ", " + p.TLS.Version
	}
	switch {
	case v.Reason == check.Stale: // the result has expired
	case p.Reason == "":
		row.State = check.StateOK
	default:
		row.State, row.Hint = check.StateBad, p.Reason.Hint()
	}
	return row
}
