package leave

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/obstacle"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// runsTime is how long it may take to find out whether a daemon runs.
const runsTime = time.Second

// Holds are the holds of this host: a drain.Store.
type Holds interface {
	Change(holder string, service drain.Service, next func(old drain.Hold) (drain.Hold, error)) (drain.Hold, error)
	Read() drain.Snapshot
}

// World is what the way out and the way back see and change.
type World struct {
	// Next returns the daemon's status: at once the first time, then after a pause. The error wraps
	// status.ErrNoDaemon if no daemon answers.
	Next func(ctx context.Context) (status.Status, error)
	// Runs reports whether a daemon that does not answer runs nevertheless.
	Runs func(ctx context.Context) bool
	// Connections returns the connections to the master's port, as the kernel knows them.
	Connections func() ([]sockets.Connection, error)
	Holds       Holds

	// MaxOut is how many masters of a fleet may be out.
	MaxOut answer.MaxOut
	// Claim claims a slot, see budget.Client; nil without a budget. It returns within budget.Timeout. Its error is a
	// budget.TakenError, or wraps budget.ErrUnreachable.
	Claim func(ctx context.Context, want budget.Claim) error
	// Fleet asks the other masters, see fleet.Asker; nil if no fleet is known.
	Fleet func(ctx context.Context) (others []fleet.Witness, place int)

	// Say shows what is waited for.
	Say func(line string)
	// Note shows what has been decided.
	Note func(line string)
	// Changed, if set, shows a hold that was "held" or "lifted".
	Changed func(what string, h drain.Hold)
}

// NewWorld returns the world of this host. Say, Note and Changed are the caller's to set.
func NewWorld(c config.Config) World {
	w := World{
		Next:        status.Client{Socket: c.Socket}.Follow(),
		Runs:        func(ctx context.Context) bool { return daemonRuns(ctx, c.Listen) },
		Connections: func() ([]sockets.Connection, error) { return sockets.Connections(c.Probe.Address) },
		Holds:       c.Store(),
		MaxOut:      c.MaxOut,
		Fleet:       fleet.Asker(c.Fleet, c.Probe.Certname),
	}
	if !c.Budget.Database.IsZero() {
		w.Claim = budget.New(c).Claim
	}
	return w
}

// daemonRuns reports whether a daemon runs: systemd has a process of it, or starts or stops one, or a daemon outside
// its unit answers. Without systemd, any process that accepts connections on the daemon's port is taken for it; with
// systemd that may be pmcheck.socket alone.
func daemonRuns(ctx context.Context, listen string) bool {
	ctx, cancel := context.WithTimeout(ctx, runsTime)
	defer cancel()

	service, err := systemd.AskService(ctx, "pmcheck.service")
	if err == nil {
		ended := slices.Contains([]string{"", "dead", "failed"}, service.SubState)
		return service.MainPID != 0 || !ended || isDaemon(ctx, listen)
	}

	conn, err := new(net.Dialer).DialContext(ctx, "tcp", listen)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// isDaemon reports whether a daemon answers on a port.
func isDaemon(ctx context.Context, listen string) bool {
	request := &http.Request{URL: &url.URL{Scheme: "http", Host: listen, Path: "/live"}, Header: http.Header{}}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return false
	}
	defer resp.Body.Close()

	said, err := io.ReadAll(io.LimitReader(resp.Body, 64))
	return err == nil && string(said) == "live"
}

// waitUntilClear looks until the way has been clear for settled, or the time has expired. look must take some time.
// waitUntilClear returns what was in the way last, and nil if the way is clear. The error is look's or ctx's.
func (w World) waitUntilClear(ctx context.Context, expired func() bool, settled time.Duration,
	look func(ctx context.Context) ([]status.Obstacle, error)) (left []status.Obstacle, err error) {
	left = obstacle.NotKnown(fmt.Errorf("not clear for %s", settled))
	var since time.Time // since when the way has been clear; zero if it is not
	for {
		list, err := look(ctx)
		err = cmp.Or(ctx.Err(), err)
		if err != nil {
			return nil, err
		}

		isClear := len(list) == 0
		if !isClear {
			left = list
			since = time.Time{}
		} else if since.IsZero() {
			since = time.Now()
		}

		if isClear && time.Since(since) >= settled {
			return nil, nil
		}
		if expired() {
			return left, nil
		}
		if !isClear {
			w.Say(obstacle.Summary(list))
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
