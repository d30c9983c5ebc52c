package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// reportMode notes the mode that the files have, and what balancers are told since the daemon acts on it. It
// returns the status that says so, or the zero one.
func reportMode(c *cli.Context, w leave.World, settings config.Config, t *show.Toggle) status.Status {
	now := time.Now()
	t.Service = cmp.Or(c.String("service"), monitor.Server)
	holds := settings.Store().Read()
	t.Mode, _ = holds.Mode(t.Service, now)
	for _, h := range holds.At(now).Holds() {
		if h.Covers(t.Service) && (t.Set == nil || h != *t.Set) {
			t.Remaining = append(t.Remaining, h)
		}
	}
	st, err := effect(c.Context, w, t.Service, t.Mode)
	if err != nil {
		t.Error = err.Error()
		return st
	}
	s, _ := st.Service(t.Service)
	t.InEffect, t.Answer, t.Told = true, &s.Answer, show.Told(st, t.Service)
	return st
}

// effectTime is how long the daemon may take to act on a hold that was lifted. It needs milliseconds; if
// the kernel loses a change, 5 s.
const effectTime = 7 * time.Second

// effect blocks until the daemon reports the mode that the files have, and returns the status that does.
func effect(ctx context.Context, w leave.World, service string, m drain.Mode) (status.Status, error) {
	limited, cancel := context.WithTimeout(ctx, effectTime)
	defer cancel()
	for by := ""; ; {
		st, err := w.Next(limited)
		switch {
		case ctx.Err() != nil:
			return status.Status{}, errors.New("interrupted before the daemon reported it")
		case limited.Err() != nil:
			return status.Status{}, fmt.Errorf("the daemon has not acted on it after %s%s; see pmcheck status", effectTime, by)
		case err != nil:
			return status.Status{}, err
		}
		s, err := st.ServiceOrError(service)
		if err != nil || s.Mode == m {
			return st, err
		}
		by = fmt.Sprintf(": mode %s, held by %s", s.Mode, strings.Join(st.Holders(s), ", "))
	}
}
