package browser

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// rig is an agent that asks a stand-in master.
type rig struct {
	t      *testing.T
	config config.Config
	master *checktest.Master
	store  *drain.Store
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	m, err := checktest.NewMaster(filepath.Join(dir, "puppet"), "puppet1.example.test", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	f := m.Files()
	c := config.Default()
	c.Listen = lab.FreeAddress(t, "127.0.0.1")
	c.Socket = filepath.Join(dir, "pmcheck.sock")
	c.Holds = config.Holds{Persistent: filepath.Join(dir, "holds"), UntilReboot: filepath.Join(dir, "run")}
	c.Probe.Address, c.Probe.Certname = m.Address(), m.Name
	c.Probe.Certificate, c.Probe.Key, c.Probe.CA, c.Probe.CRL = f.Certificate, f.Key, f.CA, f.CRL
	c.Probe.MaxAge = time.Minute
	c.Checks.SetSeverity(check.CheckUnit, check.Off)
	if err := errors.Join(os.MkdirAll(c.Holds.Persistent, 0o755), os.MkdirAll(c.Holds.UntilReboot, 0o755)); err != nil {
		t.Fatal(err)
	}
	return &rig{t, c, m, &drain.Store{Persistent: c.Holds.Persistent, UntilReboot: c.Holds.UntilReboot}}
}

// run starts the agent, and returns what ends it.
func (r *rig) run() (stop func()) {
	r.t.Helper()
	a := daemon.New(r.config, "test.yaml", "test", slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	if err := a.Listen(ctx); err != nil {
		r.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Serve(ctx) }()
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	}
	r.t.Cleanup(stop)
	return stop
}

func (r *rig) hold(reason string) {
	r.t.Helper()
	if _, err := r.store.Put(drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: reason}); err != nil {
		r.t.Fatal(err)
	}
}

// awaitTitle waits for the tab's title to begin with text.
func (c *chromium) awaitTitle(text string) {
	c.t.Helper()
	lab.RetryUntil(c.t, patience, 100*time.Millisecond, func() error {
		if title := c.text("document.title"); !strings.HasPrefix(title, text) {
			return fmt.Errorf("the title is %q, want %q", title, text)
		}
		return nil
	})
}

// The page follows the master without losing the reader's place, and says so
// when it can no longer.
func TestPageRefreshesInPlace(t *testing.T) {
	c := startChromium(t)
	r := newRig(t)
	stop := r.run()
	c.screen(320, "light")
	c.visit("http://" + r.config.Listen + "/")
	c.awaitTitle("In service · puppet1.example.test")
	c.eval(`(() => {
		window.before = document.getElementById('headline');
		document.querySelector('a[href="/metrics"]').focus();
		window.scrollTo(0, 700);
		window.checks = document.getElementById('checks').getBoundingClientRect().top;
		getSelection().selectAllChildren(document.getElementById('checks'));
	})()`, nil)

	r.hold("looking into it")
	c.awaitTitle("Out of service: drain")
	var place struct {
		Same      bool
		Focus     string
		Moved     float64
		Selection string
		Holds     string
	}
	c.eval(`({same: window.before === document.getElementById('headline'), focus: document.activeElement.textContent,
		moved: document.getElementById('checks').getBoundingClientRect().top - window.checks, selection: getSelection().toString(), holds: document.querySelector('[aria-labelledby=holds]').innerText})`, &place)
	if !place.Same || place.Focus != "metrics" || math.Abs(place.Moved) > 1 || place.Selection != "Checks" || !strings.Contains(place.Holds, "looking into it") {
		t.Errorf("after a refresh: %+v", place)
	}

	stop()
	c.awaitTitle("No news · ")
	c.picture("no news")
	if alert := c.text("document.getElementById('lost').innerText"); !strings.HasPrefix(alert, "No news since ") {
		t.Errorf("alert %q", alert)
	}
	r.run()
	c.awaitTitle("Out of service: drain")
	if hidden := c.text("String(document.getElementById('lost').hidden)"); hidden != "true" {
		t.Error("the alert is still there after it is back")
	}
}

// Without JavaScript it is the same page, and it reloads by itself.
func TestPageWorksWithoutJavaScript(t *testing.T) {
	c := startChromium(t)
	r := newRig(t)
	r.run()
	c.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	c.visit("http://" + r.config.Listen + "/")
	c.awaitTitle("In service")
	if hidden := c.text("String(document.getElementById('pause').hidden)"); hidden != "true" {
		t.Error("a button that does nothing is shown")
	}
	for _, problem := range c.layout() {
		t.Error(problem)
	}
	r.hold("")
	c.awaitTitle("Out of service: drain")
}

func TestEachLiveStateHasItsPage(t *testing.T) {
	c := startChromium(t)
	r := newRig(t)
	s := check.Settings[check.JRubySettings](r.config.Checks)
	s.Interval, s.StuckAfter = 500*time.Millisecond, 5*time.Second
	r.run()
	c.visit("http://" + r.config.Listen + "/")
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
		if err := r.master.Set(tt.state); err != nil {
			t.Fatal(err)
		}
		c.awaitTitle(tt.title)
		c.picture("live " + string(tt.state))
	}
}
