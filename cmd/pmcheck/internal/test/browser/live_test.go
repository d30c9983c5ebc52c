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

// pageYAML leaves out the unit, which the stand-in has not.
const pageYAML = "checks: {unit: off}\nprobe: {max_age: 1m}\n"

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

// TestPageRefreshesInPlace: the page follows the master without losing the reader's
// place, and says so when it gets no answer any more.
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
		t.Errorf("after a refresh: %+v", place)
	}

	site.Stop(syscall.SIGTERM)
	c.waitForTitle("No news · ")
	c.picture("no news")
	if alert := c.text("document.getElementById('lost').innerText"); !strings.HasPrefix(alert, "No news since ") {
		t.Errorf("alert %q", alert)
	}
	site.Start()
	c.waitForTitle("Out of service: drain")
	if hidden := c.text("String(document.getElementById('lost').hidden)"); hidden != "true" {
		t.Error("the alert is still there after it is back")
	}
}

// TestPageWorksWithoutJavaScript: it is the same page, and it reloads by itself.
func TestPageWorksWithoutJavaScript(t *testing.T) {
	c := startChromium(t)
	site := lab.StartSite(t, lab.SiteOptions{YAML: pageYAML})
	c.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	c.visit("http://" + site.Listen + "/")
	c.waitForTitle("In service")
	if hidden := c.text("String(document.getElementById('pause').hidden)"); hidden != "true" {
		t.Error("a button that does nothing is shown")
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
		YAML: pageYAML + "jruby: {interval: 1s, stuck_after: 5s}\n",
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
