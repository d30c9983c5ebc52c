package agent

import (
	"context"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// unitTime is how long systemd may take to tell the state of a unit.
const unitTime = 300 * time.Millisecond

// Once probes the master and makes each check that the configuration asks
// for, once, now, and at the same time. It returns the verdict on all of it,
// which nothing has confirmed.
func Once(ctx context.Context, c config.Config) (check.Verdict, check.Result, []CheckStatus) {
	l := &loop{findings: newFindings(), credentials: newCredentials(c.Probe)}
	l.findings.configure(c.Checks)
	prober := NewProber(c.Probe)
	defer prober.Close()
	var (
		work   sync.WaitGroup
		mu     sync.Mutex
		result check.Result
	)
	for _, r := range l.runners(c) {
		work.Go(func() {
			found := r.once(ctx)
			r.close()
			mu.Lock()
			defer mu.Unlock()
			l.findings.take(found, time.Now())
		})
	}
	var unit systemd.UnitState
	if c.Checks.Severity(check.CheckUnit) != check.Off {
		work.Go(func() { unit = unitNow(ctx, check.Settings[check.UnitSettings](c.Checks).Names) })
	}
	result = prober.Probe(ctx)
	work.Wait()

	now := time.Now()
	l.findings.unit(unit, now)
	l.findings.observe(c.Checks, result, now)
	var judge check.Judge
	probed, _ := judge.Observe(result)
	list := l.findings.list(now)
	return check.Fold(probed, list), result, checkStatus(list)
}

// unitNow returns the state of the master's unit; the zero state if there is
// none, or nobody to ask.
func unitNow(ctx context.Context, names []string) (state systemd.UnitState) {
	ctx, cancel := context.WithTimeout(ctx, unitTime)
	defer cancel()
	systemd.WatchUnit(ctx, names, func(u systemd.UnitState) {
		if u.Unit != "" && state.Unit == "" {
			state = u
			cancel()
		}
	})
	return state
}

func checkStatus(list []check.Finding) []CheckStatus {
	var status []CheckStatus
	for _, f := range list {
		status = append(status, CheckStatus{f, f.Reason.Hint()})
	}
	return status
}
