package agent

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
)

// confirmAfter is the pause before a definite fault is confirmed: long enough
// for a listener that was replaced, short against any balancer's interval.
const confirmAfter = 20 * time.Millisecond

// loop owns the facts. Only its own goroutine writes to them.
type loop struct {
	log     *slog.Logger
	holds   *drain.Watcher
	publish func(*state)

	config  config.Probe
	prober  *check.Prober
	judge   check.Judge
	results chan check.Result
	lost    chan struct{} // the master ended the kept connection
	reloads chan config.Probe

	probes  sync.WaitGroup // the probe under way
	asking  bool
	again   bool // a probe is wanted as soon as the one under way is done
	credit  bool // a lost connection may cause one probe between two ticks
	count   int64
	last    check.Result
	current *state
}

func newLoop(c config.Probe, holds *drain.Watcher, log *slog.Logger, publish func(*state)) *loop {
	l := &loop{
		log: log, holds: holds, publish: publish,
		results: make(chan check.Result, 1),
		lost:    make(chan struct{}, 1),
		reloads: make(chan config.Probe, 1),
		credit:  true,
	}
	l.configure(c)
	l.current = &state{}
	l.turn()
	return l
}

// configure makes a prober for a configuration; the judge keeps its verdict,
// which the next result renews or ends.
func (l *loop) configure(c config.Probe) {
	if l.prober != nil {
		l.prober.Close()
	}
	l.config = c
	l.prober = newProber(c, l.signalLost)
	l.judge.Rise, l.judge.Fall, l.judge.MaxAge = c.Rise, c.Fall, c.MaxAge
}

func newProber(c config.Probe, lost func()) *check.Prober {
	p := NewProber(c)
	p.Lost = lost
	return p
}

// NewProber returns a prober for a configuration.
func NewProber(c config.Probe) *check.Prober {
	return &check.Prober{Environment: c.Environment, Client: newClient(c)}
}

// newClient returns a client that asks the master as a configuration says.
func newClient(c config.Probe) check.Client {
	return check.Client{
		Address:    c.Address,
		ServerName: c.Certname,
		Timeout:    c.Timeout,
		Handshake:  c.Handshake,
		Credentials: &check.Credentials{Files: check.Files{
			Certificate: c.Certificate,
			Key:         c.Key,
			CA:          c.CA,
			CRL:         c.CRL,
			Revocation:  check.Revocation(c.Revocation),
		}},
	}
}

func (l *loop) signalLost() {
	select {
	case l.lost <- struct{}{}:
	default:
	}
}

// run turns until ctx ends, and returns when the last probe has ended.
func (l *loop) run(ctx context.Context) error {
	defer l.prober.Close()
	defer l.probes.Wait()
	tick := time.NewTicker(l.config.Interval)
	defer tick.Stop()
	confirm := time.NewTimer(0) // the first probe is due now
	defer confirm.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			l.credit = true
			l.holds.Rescan()
			l.ask(ctx)
		case <-confirm.C:
			l.ask(ctx)
		case <-l.lost:
			if l.credit {
				l.credit = false
				l.ask(ctx)
			}
		case r := <-l.results:
			if l.observe(ctx, r) {
				confirm.Reset(confirmAfter)
			}
		case <-l.holds.Changes():
		case c := <-l.reloads:
			l.configure(c)
			tick.Reset(c.Interval)
			l.ask(ctx)
		}
		l.turn()
	}
}

// ask starts a probe, or remembers that one is wanted.
func (l *loop) ask(ctx context.Context) {
	if l.asking {
		l.again = true
		return
	}
	l.asking, l.again = true, false
	prober := l.prober
	l.probes.Go(func() { l.results <- prober.Probe(ctx) })
}

// observe takes in a result, and reports whether it wants to be confirmed.
func (l *loop) observe(ctx context.Context, r check.Result) (confirm bool) {
	l.asking = false
	if ctx.Err() != nil {
		return false // we are ending, so the probe was cut short
	}
	l.count++
	l.last = r
	_, confirm = l.judge.Observe(r)
	l.log.Debug("probe", "took", r.Took, "handshake", r.Handshake, "url", r.URL, "fault", faultText(r))
	if l.again {
		l.ask(ctx)
	}
	return confirm
}

func faultText(r check.Result) string {
	if r.Fault == nil {
		return ""
	}
	return r.Fault.Error()
}

// turn publishes what is known now and logs what has changed.
func (l *loop) turn() {
	now := time.Now()
	next := &state{
		turned:   now,
		maxAge:   l.config.MaxAge + l.config.Interval,
		services: []service{{name: Server, verdict: l.judge.Verdict().At(now)}},
		holds:    l.holds.Current(),
		degraded: l.holds.Degraded(),
		result:   l.last,
		probes:   l.count,
	}
	l.audit(l.current, next)
	l.current = next
	l.publish(next)
}
