package browser

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/cli"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestPicturesShowTheProgram fails if the pictures in the documents are older than the status page, or than what
// pmcheck status prints. make pictures takes them anew.
func TestPicturesShowTheProgram(t *testing.T) {
	const dir = "packaging/doc/pictures/"
	s := ordinary(time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC))
	var status bytes.Buffer
	cli.WriteStatus(&status, s.status)
	page := httptest.NewRecorder()
	document, err := s.page.Render(s.status)
	lab.Must(t, err)
	document.Write(page, http.StatusOK)
	nonce := regexp.MustCompile(`[A-Z2-7]{26}`) // another one each time
	shown := fmt.Sprintf("%x\n", sha256.Sum256(append(nonce.ReplaceAll(page.Body.Bytes(), nil), status.Bytes()...)))
	if os.Getenv("LAB_PICTURES") == "" {
		if lab.ReadFile(t, dir+"shown.sha256") != shown {
			t.Error("the pictures in the documents are older than what they show: make pictures")
		}
		return
	}
	c := startChromium(t)
	c.call("Emulation.setScrollbarsHidden", map[string]any{"hidden": true}, nil)
	terminal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><body style="margin:0;background:#111;color:#eee">`+
			`<pre style="margin:0;padding:1em;font-size:14px">`+"$ pmcheck status\n%s</pre>", html.EscapeString(status.String()))
	}))
	t.Cleanup(terminal.Close)
	var current atomic.Pointer[scene]
	current.Store(&s)
	url := serve(t, &current)
	for _, p := range []struct{ name, url, scheme string }{
		{"page-light.png", url, "light"},
		{"page-dark.png", url, "dark"},
		{"status.png", terminal.URL + "/", "dark"},
	} {
		c.screen(760, "screen", p.scheme)
		c.visit(p.url)
		c.pictureAt(lab.File(t, dir+p.name))
	}
	lab.Must(t, os.WriteFile(lab.File(t, dir+"shown.sha256"), []byte(shown), 0o644))
}

// ordinary returns a master in service of which all is well.
func ordinary(now time.Time) scene {
	s := scenes(now)[0]
	server := &s.status.Services[0]
	server.Verdict.Since = server.InServiceSince
	for i := range server.Checks {
		server.Checks[i].State = check.StateOK
	}
	expiry, code := &server.Checks[2], &server.Checks[4]
	expiry.Value, expiry.Severity, code.Severity = "1300 days", check.Warn, check.Warn
	s.status.Probe.Expiries[0].Until = s.status.Probe.Expiries[1].Until
	s.status.Probe.Expiries[3].Until = now.Add(1500 * day)
	s.status.Balancers = []lab.Balancer{
		balancer("192.0.2.10", "lb1", now, &lab.View{State: "UP", Weight: 100, WeightTotal: 200, SessionsTotal: 2}),
		balancer("192.0.2.11", "lb2", now, &lab.View{State: "UP", Weight: 100, WeightTotal: 200}),
	}
	return s
}
