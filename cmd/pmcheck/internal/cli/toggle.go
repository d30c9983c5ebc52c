package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
	"github.com/pmcheck/pmcheck/drain"
)

// toggle is what a command has changed, and its JSON.
type toggle struct {
	Set    *drain.Hold  `json:"set,omitempty"`
	Lifted []drain.Hold `json:"lifted,omitempty"`
	// Service is the service that the fields below are about.
	Service string `json:"service"`
	// Mode is the mode now, by the files.
	Mode drain.Mode `json:"mode"`
	// Remaining are the other holds in effect.
	Remaining []drain.Hold `json:"remaining,omitempty"`
	// InEffect tells that the daemon acts on it.
	InEffect bool `json:"in_effect"`
	// Answer is what balancers are told since then; nil without a daemon.
	Answer *api.Answer `json:"answer,omitempty"`
	Error  string      `json:"error,omitempty"` // why it is not in effect
	// Reached tells, with --wait, whether the goal was reached, and Obstacles what
	// was in the way when the time was over.
	Reached   *bool          `json:"reached,omitempty"`
	Obstacles []api.Obstacle `json:"obstacles,omitempty"`
}

// reportToggle says what a toggle has changed in effect, and waits for the
// goal if asked to.
func reportToggle(c *cli.Context, settings config.Config, t toggle, goal string, look wait.Goal) error {
	now := time.Now()
	t.Service = cmp.Or(c.String("service"), monitor.Server)
	holds := settings.Store().Read()
	t.Mode, _ = holds.Mode(t.Service, now)
	for _, h := range holds.At(now).Holds() {
		if h.Covers(t.Service) && (t.Set == nil || h != *t.Set) {
			t.Remaining = append(t.Remaining, h)
		}
	}
	client := api.Client{Socket: settings.Socket}
	service, since, err := wait.Effect(c.Context, client, t.Service, t.Mode)
	if err != nil {
		t.Error = err.Error()
	} else {
		t.InEffect, t.Answer = true, &service.Answer
	}
	if !c.Bool("json") {
		t.print(c.App.Writer, since)
	}
	var missed error
	wanted, limit := waitOf(c)
	switch {
	case wanted && errors.Is(err, api.ErrNoService):
		missed = noService(err)
	case wanted:
		now := look(client, settings.Probe.Address, c.String("service"), since)
		t.Obstacles, missed = waitUntilClear(c, goal, limit, rotation.Settle, now)
		reached := missed == nil
		t.Reached = &reached
	}
	if c.Bool("json") {
		return errors.Join(printJSON(c.App.Writer, t), missed)
	}
	return missed
}

func (t *toggle) print(w io.Writer, since time.Time) {
	switch {
	case t.Set != nil:
		fmt.Fprintf(w, "held: %s\n", render.Hold(*t.Set))
	case len(t.Lifted) == 0:
		fmt.Fprintln(w, "nothing to lift")
	}
	for _, h := range t.Lifted {
		fmt.Fprintf(w, "lifted: %s\n", render.Hold(h))
	}
	switch {
	case t.InEffect:
		fmt.Fprintf(w, "in effect: balancers are told %d %s (/%s, since %s)\n",
			t.Answer.Code, t.Answer.Body, t.Service, since.Local().Format(time.TimeOnly))
	case strings.HasPrefix(t.Error, api.ErrNoDaemon.Error()):
		fmt.Fprintf(w, "not in effect yet: %s; it applies when the daemon starts\n", t.Error)
	default:
		fmt.Fprintf(w, "not in effect: %s\n", t.Error)
	}
	if len(t.Remaining) == 0 {
		return
	}
	fmt.Fprintf(w, "other holds: %d, so the mode is %s\n", len(t.Remaining), t.Mode)
	for _, h := range t.Remaining {
		fmt.Fprintf(w, "  %s\n", render.Held(h))
	}
}

// noService adds what a caller can do about a service that the daemon does not answer for.
func noService(err error) error {
	return &exitError{exitUsage, err, "set services in the configuration, then systemctl reload pmcheck"}
}

// noDaemon reports whether a command failed because no daemon answers.
func noDaemon(err error) bool { return errors.Is(err, api.ErrNoDaemon) }
