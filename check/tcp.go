package check

import (
	"cmp"
	"context"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// TCP connects to a service that speaks no Status API, and says no more than
// whether it accepts. Set the fields before the first Probe; safe for
// concurrent use.
type TCP struct {
	Address string        // host:port
	Timeout time.Duration // 0 means puppetclient.DefaultTimeout
}

// Probe connects once and closes the connection. It never fails: what went
// wrong is the result's Fault. It returns within Timeout, or when ctx is done.
func (t *TCP) Probe(ctx context.Context) Result {
	r := Result{Asked: time.Now(), URL: "tcp://" + t.Address}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.Timeout, puppetclient.DefaultTimeout))
	defer cancel()
	conn, err := puppetclient.Dial(ctx, t.Address)
	r.Took = time.Since(r.Asked)
	if err != nil {
		r.Fault = faultOf(err)
		return r
	}
	conn.Close()
	return r
}
