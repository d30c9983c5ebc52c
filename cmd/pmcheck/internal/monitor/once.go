package monitor

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// unitTime is how long systemd may take to report the state of a unit.
const unitTime = 300 * time.Millisecond

// Once probes the master and runs each check of the configuration once, all of them
// concurrently. It returns the overall verdict, the result of the probe, and the findings.
func Once(ctx context.Context, c config.Config) (check.Verdict, check.Result, []check.Finding) {
	credentials := &puppetclient.Credentials{Files: c.Probe.Files}
	prober := newProber(c.Probe, credentials, drain.Master)
	defer prober.Close()

	found := findings{latest: map[string]check.Finding{}}
	found.configure(c, credentials)

	var (
		work sync.WaitGroup
		mu   sync.Mutex // protects found
	)
	for _, s := range found.scheduled {
		work.Go(func() {
			f := once(ctx, s)
			mu.Lock()
			defer mu.Unlock()
			found.take(f, time.Now())
		})
	}

	result := prober.Probe(ctx)
	work.Wait()

	now := time.Now()
	found.observe(result, now)

	unit := unitNow(ctx, c)
	p := place{address: c.Probe.Address}
	if c.Probe.Assumed {
		s := sight{listeners: listening(), unit: unit}
		p = s.place(c.Probe.Address, c.Probe.Address, true)
	}
	found.unit(unit, p.notMaster, now)

	list := found.list(now)
	verdict := new(check.Judge).Observe(result)
	return check.Fold(verdict, list), result, list
}

// Located returns c with the address where the master is, if no source names one. doubted is set if what answers there
// is not its unit's.
func Located(ctx context.Context, c config.Config) (located config.Config, doubted bool) {
	if !c.Probe.Assumed {
		return c, false
	}

	inUse := c.Probe.Address
	s := sight{listeners: listening(), unit: unitNow(ctx, c)}
	p := s.place(inUse, inUse, false)
	t := try(ctx, c.Probe, &puppetclient.Credentials{Files: c.Probe.Files}, p)
	c.Probe.Address = cmp.Or(t.address, inUse)
	return c, p.doubted && t.address == ""
}

// unitNow returns the state of the master's unit; zero if it is not known, or not looked at.
func unitNow(ctx context.Context, c config.Config) (unit systemd.UnitState) {
	if !watchesUnit(c) {
		return unit
	}

	ctx, cancel := context.WithTimeout(ctx, unitTime)
	defer cancel()
	systemd.WatchUnit(ctx, c.Checks.Unit().Names, func(u systemd.UnitState) {
		unit = u
		if u.Unit != "" {
			cancel()
		}
	})
	return unit
}
