package check

import (
	"context"
	"time"
)

// TCP connects to a service that speaks no Status API, and says no more than
// whether it accepts. Set the fields before the first Probe; safe for
// concurrent use.
type TCP struct {
	Address string        // host:port
	Timeout time.Duration // 0 means DefaultTimeout
}

// Probe connects once and closes the connection. It never fails: what went
// wrong is the result's Fault. It returns within Timeout, or when ctx is done.
func (t *TCP) Probe(ctx context.Context) Result {
	r := Result{Asked: time.Now(), URL: "tcp://" + t.Address}
	ctx, cancel := context.WithTimeout(ctx, orDefault(t.Timeout, DefaultTimeout))
	defer cancel()
	conn, err := connect(ctx, t.Address)
	r.Took = time.Since(r.Asked)
	if err != nil {
		r.Fault = networkFault(err, t.Address)
		return r
	}
	conn.Close()
	return r
}
