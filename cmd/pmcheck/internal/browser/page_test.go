package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/agent"
)

// serve shows a scene, with the status code that goes with it.
func serve(t *testing.T, s *scene) string {
	page := agent.NewPage()
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
	for _, current = range scenes(time.Now()) {
		for _, width := range []int{320, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				name := fmt.Sprintf("%s %d %s", current.name, width, scheme)
				c.screen(width, scheme)
				c.visit(url)
				c.picture(name)
				for _, complaint := range c.complaints() {
					t.Errorf("%s: the console says %s", name, complaint)
				}
				for _, problem := range c.layout() {
					t.Errorf("%s: %s", name, problem)
				}
				for _, asked := range c.requests() {
					if !strings.HasPrefix(asked, url) && !strings.HasPrefix(asked, "data:") {
						t.Errorf("%s: asks for %s", name, asked)
					}
				}
			}
		}
	}
}

// layout looks for what does not fit, cannot be read or is not in order.
func (c *chromium) layout() (problems []string) {
	c.eval(`(() => {
		const problems = [], root = document.documentElement;
		if (root.scrollWidth > root.clientWidth) problems.push('the page is ' + root.scrollWidth + ' wide, the window ' + root.clientWidth);
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
		if (document.querySelectorAll('h1, main').length !== 2) problems.push('not one h1 and one main');
		if (document.querySelectorAll('main table th:not([scope])').length) problems.push('a header without scope');
		return problems;
	})()`, &problems)
	return problems
}
