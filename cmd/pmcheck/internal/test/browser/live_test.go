package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // as in the pictures, and before lab.Main starts what reads it
	lab.Main(m)
}

// pageYAML switches the check of the unit off, since the stand-in has no unit.
const pageYAML = "checks: {unit: off}\n"

func hold(site *lab.Site, reason string) {
	site.TB.Helper()
	site.MustRun("drain", "--force", "--reason", reason)
}

func (c *chromium) waitForTitle(text string) {
	c.t.Helper()
	lab.WaitFor(c.t, patience, 100*time.Millisecond, func() error {
		if title := c.text("document.title"); !strings.HasPrefix(title, text) {
			return fmt.Errorf("the title is %q, want %q", title, text)
		}
		return nil
	})
}

func (c *chromium) hidden(id string) (hidden bool) {
	c.t.Helper()
	c.eval("document.getElementById('"+id+"').hidden", &hidden)
	return hidden
}

// TestPageRefreshesInPlace: the page follows the master's state, and keeps the focus and the scroll
// position. It shows an alert while pmcheck does not answer.
func TestPageRefreshesInPlace(t *testing.T) {
	c := startChromium(t)
	site := lab.StartSite(t, lab.SiteOptions{YAML: pageYAML})
	c.screen(320, "screen", "light")
	c.visit("http://" + site.Listen + "/")
	c.waitForTitle("in service")
	c.eval(`(() => {
		document.querySelector('a[href="/metrics"]').focus();
		scrollTo(0, 500);
	})()`, nil)

	hold(site, "looking into it")
	c.waitForTitle("OUT of service: held in drain")
	var place struct {
		Focus  string
		Scroll float64
		Holds  string
	}
	c.eval(`({focus: document.activeElement.textContent, scroll: scrollY,
		holds: document.querySelector('[aria-labelledby=holds]').innerText})`, &place)
	if place.Focus != "metrics" || place.Scroll < 100 || !strings.Contains(place.Holds, "looking into it") {
		t.Errorf("a refresh lost the reader's place or the hold's reason: %+v", place)
	}

	site.Stop()
	c.waitForTitle("No news · ")
	c.picture("no news")
	if alert := c.text("document.getElementById('lost').innerText"); !strings.HasPrefix(alert, "No news since ") {
		t.Errorf(`the alert is %q, want "No news since ..."`, alert)
	}
	site.Start()
	c.waitForTitle("OUT of service: held in drain")
	if !c.hidden("lost") {
		t.Error("the alert is still shown after pmcheck is back")
	}
}

// TestPageWorksWithoutJavaScript: the page reloads itself instead of refreshing in place.
func TestPageWorksWithoutJavaScript(t *testing.T) {
	c := startChromium(t)
	site := lab.StartSite(t, lab.SiteOptions{YAML: pageYAML})
	c.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	c.visit("http://" + site.Listen + "/")
	c.waitForTitle("in service")
	if !c.hidden("pause") {
		t.Error("the pause button is shown, which does nothing without JavaScript")
	}
	hold(site, "")
	c.waitForTitle("OUT of service: held in drain")
}
