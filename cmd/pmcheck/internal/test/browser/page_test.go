//go:build linux

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// serve starts a server that shows a scene with its status code, and returns the URL.
func serve(t *testing.T, s *scene) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.page.Write(w, s.status.Services[0].Answer.Code, s.status); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// TestEachStateIsReadable: on a phone and on a desk, light, dark and printed.
func TestEachStateIsReadable(t *testing.T) {
	c := startChromium(t)
	var current scene
	url := serve(t, &current)
	for _, current = range append(scenes(time.Now()), hostile(time.Now())) {
		for _, screen := range []struct {
			width         int
			media, scheme string
		}{{320, "screen", "light"}, {320, "screen", "dark"}, {1280, "screen", "light"}, {1280, "screen", "dark"},
			{700, "print", "dark"}} {
			name := fmt.Sprintf("%s %s %d %s", current.name, screen.media, screen.width, screen.scheme)
			c.screen(screen.width, screen.media, screen.scheme)
			c.visit(url)
			c.picture(name)
			for _, problem := range append(c.complaints(), c.problems()...) {
				t.Errorf("%s: %s", name, problem)
			}
		}
	}
}

// problems returns problems with overflow, contrast, font sizes and what is only text.
func (c *chromium) problems() (problems []string) {
	c.eval(`(() => {
		const problems = [], root = document.documentElement;
		for (const e of document.querySelectorAll('html, section, li, h1')) {
			if (e.getBoundingClientRect().right > root.clientWidth + 0.5 || e.scrollWidth > root.clientWidth) {
				problems.push('overflow: ' + e.outerHTML.slice(0, 80));
			}
		}
		for (const e of document.querySelectorAll(
			'img, iframe, object, embed, svg [onload], [onerror], script:not([nonce])')) {
			problems.push('a name became ' + e.outerHTML.slice(0, 80));
		}
		if (document.title.includes('pwned')) problems.push('a name ran');
		const luminance = color => {
			const [r, g, b] = color.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		};
		const parse = color => color.match(/[\d.]+/g).map(Number);
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
			const text = texts.currentNode.data.trim(), e = texts.currentNode.parentElement;
			if (!text || !e.checkVisibility() || e.tagName === 'SCRIPT') continue;
			looked++;
			const style = getComputedStyle(e), size = parseFloat(style.fontSize);
			const [a, b] = [luminance(parse(style.color).slice(0, 3)), luminance(behind(e))].sort((x, y) => y - x);
			const ratio = (a + 0.05) / (b + 0.05);
			if (ratio < (size >= 24 ? 3 : 4.5)) problems.push('contrast ' + ratio.toFixed(2) + ' of ' + text);
			if (size < 12) problems.push(size + 'px: ' + text);
		}
		if (looked < 40) problems.push('only ' + looked + ' texts');
		return problems;
	})()`, &problems)
	return problems
}
