//go:build linux

package browser

import (
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

// pageYAML switches the check of the unit off, since the stand-in has no unit.
const pageYAML = "checks: {unit: off}\n"

// hold drains a site for a reason.
func hold(site *lab.Site, reason string) {
	site.TB.Helper()
	site.MustRun("drain", "--force", "--reason", reason)
}

// waitForTitle waits for the tab's title to begin with text.
func (c *chromium) waitForTitle(text string) {
	c.t.Helper()
	lab.WaitFor(c.t, patience, 100*time.Millisecond, func() error {
		if title := c.text("document.title"); !strings.HasPrefix(title, text) {
			return fmt.Errorf("the title is %q, want %q", title, text)
		}
		return nil
	})
}

// TestPageRefreshesInPlace: the page follows the master's state, and keeps the focus, the
// scroll position and the selection. It shows an alert while pmcheck does not answer.
func TestPageRefreshesInPlace(t *testing.T) {
	c := startChromium(t)
	site := lab.StartSite(t, lab.SiteOptions{YAML: pageYAML})
	c.screen(320, "light")
	c.visit("http://" + site.Listen + "/")
	c.waitForTitle("In service · " + lab.StandInName)
	c.eval(`(() => {
		window.before = document.getElementById('headline');
		document.querySelector('a[href="/metrics"]').focus();
		document.getElementById('checks').scrollIntoView();
		window.checks = document.getElementById('checks').getBoundingClientRect().top;
		getSelection().selectAllChildren(document.getElementById('checks'));
	})()`, nil)

	hold(site, "looking into it")
	c.waitForTitle("Out of service: drain")
	var place struct {
		Same      bool
		Focus     string
		Moved     float64
		Selection string
		Holds     string
	}
	c.eval(`({same: window.before === document.getElementById('headline'), focus: document.activeElement.textContent,
		moved: document.getElementById('checks').getBoundingClientRect().top - window.checks,
		selection: getSelection().toString(),
		holds: document.querySelector('[aria-labelledby=holds]').innerText})`, &place)
	if !place.Same || place.Focus != "metrics" || math.Abs(place.Moved) > 1 || place.Selection != "Checks" ||
		!strings.Contains(place.Holds, "looking into it") {
		t.Errorf("a refresh lost the reader's place or the hold's reason: %+v", place)
	}

	site.Stop(syscall.SIGTERM)
	c.waitForTitle("No news · ")
	c.picture("no news")
	if alert := c.text("document.getElementById('lost').innerText"); !strings.HasPrefix(alert, "No news since ") {
		t.Errorf(`the alert is %q, want "No news since ..."`, alert)
	}
	site.Start()
	c.waitForTitle("Out of service: drain")
	if hidden := c.text("String(document.getElementById('lost').hidden)"); hidden != "true" {
		t.Error("the alert is still shown after pmcheck is back")
	}
}

// TestPageWorksWithoutJavaScript: the page reloads itself instead of refreshing in place.
func TestPageWorksWithoutJavaScript(t *testing.T) {
	c := startChromium(t)
	site := lab.StartSite(t, lab.SiteOptions{YAML: pageYAML})
	c.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	c.visit("http://" + site.Listen + "/")
	c.waitForTitle("In service")
	if hidden := c.text("String(document.getElementById('pause').hidden)"); hidden != "true" {
		t.Error("the pause button is shown, which does nothing without JavaScript")
	}
	for _, problem := range c.layout() {
		t.Error(problem)
	}
	hold(site, "")
	c.waitForTitle("Out of service: drain")
}

func TestEachLiveStateHasItsPage(t *testing.T) {
	c := startChromium(t)
	site := lab.StartSite(t, lab.SiteOptions{
		YAML: pageYAML + "jruby: {stuck_after: 5s}\n",
	})
	c.visit("http://" + site.Listen + "/")
	for _, tt := range []struct {
		state checktest.State
		title string
	}{
		{checktest.Running, "In service"},
		{checktest.Starting, "Out of service: warming"},
		{checktest.JRubyStuck, "Out of service: unhealthy"},
		{checktest.Denied, "Out of service: unknown"},
		{checktest.Stopped, "Out of service: unhealthy"},
	} {
		site.SetMaster(tt.state)
		c.waitForTitle(tt.title)
		c.picture("live " + string(tt.state))
	}
}
