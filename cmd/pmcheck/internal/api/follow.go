package api

import (
	"context"
	"time"
)

// retryEvery is the pause before a daemon that did not answer is asked again.
const retryEvery = 250 * time.Millisecond

// Follower reads the status of a daemon: at once the first time, then with each
// change. It is not safe for concurrent use.
type Follower struct {
	Client Client

	revision uint64
	asked    bool
	failed   bool // the last time
}

// Next blocks until there is news, HeldFor at the longest. The error wraps
// ErrNoDaemon if there is no daemon to ask; the next call then waits a little.
func (f *Follower) Next(ctx context.Context) (s Status, err error) {
	if f.failed {
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(retryEvery):
		}
	}
	if f.asked {
		s, err = f.Client.Next(ctx, f.revision)
	} else {
		s, err = f.Client.Status(ctx)
	}
	f.failed, f.asked, f.revision = err != nil, err == nil, s.Revision
	return s, err
}
