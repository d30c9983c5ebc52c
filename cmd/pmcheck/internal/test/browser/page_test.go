package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// serve starts a server that shows a scene with its status code, and returns the URL. Each page asks for itself again.
func serve(t *testing.T, shown *atomic.Pointer[scene]) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := shown.Load()
		document, err := s.page.Render(s.status)
		if err != nil {
			t.Error(err)
		}
		document.Write(w, s.status.Services[0].Answer.Code)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// TestEachStateIsReadable: on a phone and on a desk, light, dark and printed.
func TestEachStateIsReadable(t *testing.T) {
	c, axe := startChromium(t), axe(t)
	var shown atomic.Pointer[scene]
	url := serve(t, &shown)
	for _, current := range append(scenes(time.Now()), hostile(time.Now())) {
		shown.Store(&current)
		for _, screen := range []struct {
			width         int
			media, scheme string
		}{{320, "screen", "light"}, {320, "screen", "dark"}, {1280, "screen", "light"}, {1280, "screen", "dark"},
			{700, "print", "dark"}} {
			name := fmt.Sprintf("%s %s %d %s", current.name, screen.media, screen.width, screen.scheme)
			c.screen(screen.width, screen.media, screen.scheme)
			c.visit(url)
			c.picture(name)
			for _, problem := range append(c.complaints(), c.problems(axe)...) {
				t.Errorf("%s: %s", name, problem)
			}
		}
	}
}

// axe returns the script of axe-core, an audit by the rules of WCAG.
func axe(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	lab.Must(t, lab.RunOutside(
		exec.Command(lab.Need(t, "npm", "npm"), "install", "--prefix", dir, "--no-audit", "axe-core@4.14.1")))
	return lab.Read(t, filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
}

// problems returns what axe finds, and problems with overflow, font sizes and what is only text.
func (c *chromium) problems(axe string) (problems []string) {
	c.eval(axe+"\n;0", nil)
	c.eval(`axe.run().then(({violations, passes}) => {
		const problems = violations.flatMap(v => v.nodes.map(n => v.id + ': ' + n.html.slice(0, 80)));
		if (passes.length < 20) problems.push('axe looked at ' + passes.length + ' rules only');
		const root = document.documentElement;
		for (const e of document.querySelectorAll('html, section, li, h1')) {
			if (e.getBoundingClientRect().right > root.clientWidth + 0.5 || e.scrollWidth > root.clientWidth) {
				problems.push('overflow: ' + e.outerHTML.slice(0, 80));
			}
		}
		for (const e of document.body.querySelectorAll('*')) {
			if (parseFloat(getComputedStyle(e).fontSize) < 12) problems.push('small: ' + e.outerHTML.slice(0, 80));
		}
		for (const e of document.querySelectorAll(
			'img, iframe, object, embed, svg [onload], [onerror], script:not([nonce])')) {
			problems.push('a name became ' + e.outerHTML.slice(0, 80));
		}
		if (document.title.includes('pwned')) problems.push('a name ran');
		return problems;
	})`, &problems)
	return problems
}
