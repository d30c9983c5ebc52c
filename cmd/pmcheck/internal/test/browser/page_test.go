//go:build linux

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// serve starts a server that shows a scene with its status code, and returns the URL.
func serve(t *testing.T, s *scene) string {
	page := lab.NewPage()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := page.Write(w, s.status.Services[0].Answer.Code, s.status, s.samples); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

func TestEachStateIsReadable(t *testing.T) {
	c := startChromium(t)
	var current scene
	url := serve(t, &current)
	for _, current = range append(scenes(time.Now()), hostile(time.Now())) {
		for _, width := range []int{320, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				name := fmt.Sprintf("%s %d %s", current.name, width, scheme)
				c.screen(width, scheme)
				c.visit(url)
				c.picture(name)
				for _, complaint := range c.complaints() {
					t.Errorf("%s: in the console: %s", name, complaint)
				}
				for _, problem := range c.layout() {
					t.Errorf("%s: %s", name, problem)
				}
				for _, asked := range c.requests() {
					if !strings.HasPrefix(asked, url) && !strings.HasPrefix(asked, "data:") {
						t.Errorf("%s: the page requests %s", name, asked)
					}
				}
			}
		}
	}
}

// layout returns problems with overflow, contrast, font sizes, headings and table headers.
func (c *chromium) layout() (problems []string) {
	c.eval(`(() => {
		const problems = [], root = document.documentElement;
		if (root.scrollWidth > root.clientWidth) {
			problems.push('the page is ' + root.scrollWidth + ' wide, the window ' + root.clientWidth);
		}
		for (const e of document.querySelectorAll('section, table, code, h1')) {
			if (e.getBoundingClientRect().right > root.clientWidth + 0.5) problems.push('overflow: ' + e.outerHTML.slice(0, 80));
		}
		const parse = color => color.match(/[\d.]+/g).map(Number);
		const luminance = color => {
			const [r, g, b] = color.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		};
		const behind = e => {
			for (; e; e = e.parentElement) {
				const [r, g, b, alpha = 1] = parse(getComputedStyle(e).backgroundColor);
				if (alpha === 1) return [r, g, b];
			}
			return [255, 255, 255];
		};
		const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		let looked = 0;
		while (texts.nextNode()) {
			const e = texts.currentNode.parentElement;
			if (!texts.currentNode.data.trim() || !e.checkVisibility() || e.tagName === 'SCRIPT') continue;
			looked++;
			const style = getComputedStyle(e), size = parseFloat(style.fontSize);
			const [a, b] = [luminance(parse(style.color).slice(0, 3)), luminance(behind(e))].sort((x, y) => y - x);
			const ratio = (a + 0.05) / (b + 0.05), wanted = size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5;
			if (ratio < wanted) problems.push('contrast ' + ratio.toFixed(2) + ' of ' + texts.currentNode.data.trim());
			if (size < 12) problems.push(size + 'px: ' + texts.currentNode.data.trim());
		}
		if (looked < 50) problems.push('only ' + looked + ' texts');
		let level = 0;
		for (const h of document.querySelectorAll('h1, h2, h3, h4')) {
			const l = Number(h.tagName[1]);
			if (l > level + 1) problems.push('heading out of order: ' + h.textContent);
			level = l;
		}
		if (document.querySelectorAll('h1, main').length !== 2) problems.push('not exactly one h1 and one main');
		if (document.querySelectorAll('main table th:not([scope])').length) problems.push('a table header without scope');
		return problems;
	})()`, &problems)
	return problems
}

func TestNamesAreOnlyText(t *testing.T) {
	c := startChromium(t)
	s := hostile(time.Now())
	c.visit(serve(t, &s))
	var foreign int
	c.eval(`document.querySelectorAll('img, iframe, object, embed, svg [onload], [onerror], script:not([nonce])').length`,
		&foreign)
	if title := c.text("document.title"); foreign != 0 || strings.Contains(title, "pwned") {
		t.Errorf("%d foreign elements, title %q", foreign, title)
	}
	if text := c.text("document.getElementById('main').innerText"); !strings.Contains(text,
		`<script>document.title = "pwned"</script>`) {
		t.Error("the reason is not shown literally")
	}
}

func TestContentSecurityPolicyBlocksInjectedElements(t *testing.T) {
	c := startChromium(t)
	s := scenes(time.Now())[0]
	url := serve(t, &s)
	c.visit(url)
	var blocked []string
	c.eval(`new Promise(done => {
		const blocked = [];
		document.addEventListener('securitypolicyviolation', e => {
			blocked.push(e.effectiveDirective);
			if (blocked.length === 4) done(blocked.sort());
		});
		const add = (name, attributes, text) =>
			document.body.append(Object.assign(document.createElement(name), attributes, {textContent: text}));
		add('script', {}, 'document.title = "pwned"');
		add('style', {}, 'body { display: none }');
		add('img', {src: 'http://127.0.0.1:9/x.png'}, '');
		document.body.append(Object.assign(document.createElement('iframe'), {src: 'http://127.0.0.1:9/'}));
	})`, &blocked)
	if got, want := strings.Join(blocked, " "), "frame-src img-src script-src-elem style-src-elem"; got != want {
		t.Errorf("blocked %s, want %s", got, want)
	}
	if got := c.text("document.cookie"); got != "" {
		t.Errorf("the page sets the cookie %q", got)
	}
}

func TestKeyboardReachesEverything(t *testing.T) {
	c := startChromium(t)
	s := scenes(time.Now())[0]
	c.visit(serve(t, &s))
	for _, want := range []string{"refresh", "pause", "status as JSON", "metrics"} {
		c.press("Tab", 9)
		if got := c.text("document.activeElement.textContent"); got != want {
			t.Errorf("Tab moves the focus to %q, want %q", got, want)
		}
		if width := c.text("getComputedStyle(document.activeElement).outlineWidth"); width != "2px" {
			t.Errorf("%s: the outline is %s wide, want 2px", want, width)
		}
	}
	c.eval("document.getElementById('pause').focus()", nil)
	for _, want := range []string{"true", "false"} {
		c.press(" ", 32)
		if got := c.text("document.activeElement.getAttribute('aria-pressed')"); got != want {
			t.Errorf("after the space bar, aria-pressed is %s, want %s", got, want)
		}
	}
}

// TestScreenReadersGetAllRoles: on a phone, where tables are laid out as lists, a screen
// reader gets the same roles as on a large screen.
func TestScreenReadersGetAllRoles(t *testing.T) {
	c := startChromium(t)
	s := scenes(time.Now())[5]
	url := serve(t, &s)
	for _, width := range []int{320, 1280} {
		c.screen(width, "light")
		c.visit(url)
		count := c.roles()
		for _, role := range []string{"banner", "main", "contentinfo", "status", "heading In service",
			"heading Out of service: maint", "region Holds", "region JRubies",
			"region Checks", "region Balancers", "table Checks", "table Balancers",
			"columnheader Its view", "rowheader probe", "row", "button pause", "link refresh"} {
			want := role != "heading In service"
			if got := count[role] > 0; got != want {
				t.Errorf("width %d: the tree has %q: %v, want %v", width, role, got, want)
			}
		}
		if rows := count["row"]; rows < 11 {
			t.Errorf("width %d: %d rows, want at least 11", width, rows)
		}
	}
}

// roles counts the roles in the accessibility tree, by role and by role and name.
func (c *chromium) roles() map[string]int {
	c.t.Helper()
	type value struct{ Value any }
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name value
		}
	}
	c.call("Accessibility.getFullAXTree", nil, &tree)
	count := map[string]int{}
	for _, n := range tree.Nodes {
		if !n.Ignored {
			count[fmt.Sprint(n.Role.Value)]++
			count[fmt.Sprint(n.Role.Value, " ", n.Name.Value)]++
		}
	}
	return count
}
