// Package page shows a Status in a browser: what balancers are told, why and since when, whether the
// master may be restarted now; and below that the holds, the balancers, the JRubies of the last hour,
// the certificates and the checks.
package page

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

//go:embed page.html
var pageHTML string

// Page shows a status in a browser, and remembers the JRuby pool of the last hour. It is one document
// that loads nothing, sets no cookies and can change nothing. It is safe for concurrent use.
type Page struct {
	jrubies history
	parsed  func() *template.Template
}

// New returns a page. Its template is parsed with the first request.
func New() *Page {
	return &Page{parsed: sync.OnceValue(parse)}
}

func parse() *template.Template {
	functions := template.FuncMap{
		"clock":   text.Clock,
		"hint":    check.Hint,
		"texts":   func(list []status.Blocker) []string { return blocker.Texts(list, mostTexts) },
		"when":    text.When,
		"since":   func(t, now time.Time) string { return text.Age(now.Sub(t)) },
		"age":     func(seconds float64) string { return text.Age(status.Seconds(seconds)) },
		"latency": func(seconds float64) time.Duration { return status.Seconds(seconds).Round(time.Millisecond / 10) },
	}
	return template.Must(template.New("page").Funcs(functions).Parse(pageHTML))
}

// Note adds a reading of the JRuby pool to the last hour. Nil adds nothing.
func (p *Page) Note(now time.Time, pool *check.Pool) { p.jrubies.note(now, pool) }

// Document is the page of one status.
type Document struct {
	body  []byte
	nonce string
}

// Render returns the page of a status.
func (p *Page) Render(s status.Status) (Document, error) {
	v := p.view(s)
	var body bytes.Buffer
	err := p.parsed().Execute(&body, v)
	return Document{body: body.Bytes(), nonce: v.Nonce}, err
}

// Write answers a request with the page and a status code.
func (d Document) Write(w http.ResponseWriter, code int) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+d.nonce+"'; script-src 'nonce-"+d.nonce+
		"'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Vary", "Accept")
	w.WriteHeader(code)
	w.Write(d.body)
}

// mostTexts is how many blockers are shown.
const mostTexts = 5

// A view is what the template is given.
type view struct {
	status.Status
	Server  status.ServiceStatus // the master itself
	May     string               // whether the master may be restarted now; empty where the headline is enough
	Because []string             // what is in the way
	Nonce   string
	JRubies plot
}

func (p *Page) view(s status.Status) *view {
	v := &view{Status: s, Server: s.Master(), Nonce: rand.Text()}

	may, blockers := s.MayRestart(v.Server)
	v.May = may
	v.Because = blocker.Texts(blockers, mostTexts)

	pool, _ := v.Server.Pool()
	v.JRubies = newPlot(p.jrubies.last(s.Time, pool))
	return v
}

// Expires returns the colour of a certificate or CRL.
func (v *view) Expires(e check.Expiry) string {
	left := e.Until.Sub(v.Time)
	if left <= 0 {
		return "bad"
	}
	if left < e.Margin(status.Seconds(v.Probe.ExpiryWarn)) {
		return "warn"
	}
	return "ok"
}
