package monitor

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// runner runs one check on a schedule of its own, so that no check delays another.
type runner struct {
	check.Scheduled
	name string
}

func (r *runner) once(ctx context.Context) check.Finding {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	return r.Check(ctx)
}

func (r *runner) close() {
	if r.Client != nil {
		r.Client.Close()
	}
}

// run runs the check repeatedly until ctx ends.
func (r *runner) run(ctx context.Context, to chan<- check.Finding) {
	defer r.close()
	for send(ctx, to, r.once(ctx)) {
		select {
		case <-time.After(r.Interval):
		case <-ctx.Done():
			return
		}
	}
}

// maxAge returns how old a finding of the check may be before it is stale. It leaves
// room for a run that failed.
func (r *runner) maxAge() time.Duration { return 3*r.Interval + r.Timeout }

// newRunners returns the runners of the scheduled checks of a configuration.
func newRunners(c config.Config, host check.Host) []*runner {
	var list []*runner
	for _, wanted := range c.Checks {
		if wanted.Severity == check.Off || wanted.Schedule == nil {
			continue
		}
		if scheduled := wanted.Schedule(host); scheduled != nil {
			list = append(list, &runner{*scheduled, wanted.Name})
		}
	}
	return list
}
