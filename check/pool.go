package check

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
)

// Pool is Puppet Server's pool of JRuby instances at one moment.
type Pool struct {
	Size     int    `json:"size"`     // max-active-instances
	Free     int    `json:"free"`     // started and idle
	Borrowed []Loan `json:"borrowed"` // at work
	Waiting  []Loan `json:"waiting"`  // requests that wait for an instance
	// Lock is the state of the pool's lock, not-in-use, requested or acquired, and
	// LockSince is when the lock entered that state.
	Lock      string    `json:"lock"`
	LockSince time.Time `json:"lock_since,omitzero"`
	// Timeouts and LimitHits count since the server started: requests that gave up
	// waiting, and requests turned away at the queue's limit.
	Timeouts  int64 `json:"borrow_timeouts"`
	LimitHits int64 `json:"queue_limit_hits"`
}

// Loan is one request, with an instance or waiting for one.
type Loan struct {
	Request string  `json:"request"`          // method and path, as far as the server reports them
	Seconds float64 `json:"duration_seconds"` // for how long
}

func (l Loan) age() time.Duration { return time.Duration(l.Seconds * float64(time.Second)) }

func byAge(a, b Loan) int { return cmp.Compare(a.Seconds, b.Seconds) }

// Ready returns how many instances are started, idle or at work. It is below Size
// while the server starts or replaces instances.
func (p *Pool) Ready() int { return p.Free + len(p.Borrowed) }

// Saturated reports whether requests wait because all instances are at work.
func (p *Pool) Saturated() bool { return p.Free == 0 && len(p.Waiting) > 0 }

// Stuck returns for how long requests have waited without any instance being
// returned. While requests wait, a returned instance is lent again at once, so this
// is the age of the youngest loan.
func (p *Pool) Stuck() time.Duration {
	if !p.Saturated() || len(p.Borrowed) == 0 {
		return 0
	}
	return slices.MinFunc(p.Borrowed, byAge).age()
}

// held reports whether the pool is locked. From the moment a lock is requested, the
// pool lends nothing and waits until every instance is returned.
func (p *Pool) held() bool { return p.Lock == "requested" || p.Lock == "acquired" }

// Locked returns for how long the pool has lent nothing because of its lock. It is 0
// if the pool is not locked, or if the server does not say since when.
func (p *Pool) Locked(now time.Time) time.Duration {
	if !p.held() || p.LockSince.IsZero() {
		return 0
	}
	return max(0, now.Sub(p.LockSince))
}

// oldest names the loan that has lasted longest. The list must not be empty.
func oldest(loans []Loan) string {
	found := slices.MaxFunc(loans, byAge)
	return found.Request + " for " + text.Age(found.age())
}

// poolStatus is the answer of the service jruby-metrics at level debug. The
// fields it needs are pointers, to tell a missing field from zero: Puppet Server
// calls the payload experimental.
type poolStatus struct {
	Status struct {
		Experimental struct {
			Lock struct {
				State   string    `json:"current-state"`
				Changed time.Time `json:"last-change-time"`
			} `json:"jruby-pool-lock-status"`
			Metrics struct {
				Size      *int        `json:"num-jrubies"`
				Free      *int        `json:"num-free-jrubies"`
				Borrowed  *[]poolLoan `json:"borrowed-instances"`
				Waiting   *[]poolLoan `json:"requested-instances"`
				Timeouts  int64       `json:"borrow-timeout-count"`
				LimitHits int64       `json:"queue-limit-hit-count"`
			} `json:"metrics"`
		} `json:"experimental"`
	} `json:"status"`
}

type poolLoan struct {
	Millis float64 `json:"duration-millis"`
	Reason struct {
		Request struct {
			URI    string `json:"uri"`
			Method string `json:"request-method"`
		} `json:"request"`
	} `json:"reason"`
}

// Bounds on what is kept of an answer.
const (
	maxPath    = 200  // bytes of a request's method and path
	maxLoans   = 5000 // Jetty lets about 200 requests wait
	maxSeconds = 1e9
)

// parsePool reads an answer of jruby-metrics.
func parsePool(body []byte) (*Pool, error) {
	var s poolStatus
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, err
	}
	lock, m := s.Status.Experimental.Lock, s.Status.Experimental.Metrics
	switch {
	case m.Size == nil || m.Free == nil || m.Borrowed == nil || m.Waiting == nil:
		return nil, errors.New("num-jrubies, num-free-jrubies, borrowed-instances or requested-instances is missing")
	case *m.Size < 1 || *m.Free < 0:
		return nil, errors.New("impossible number of instances")
	case len(*m.Borrowed) > maxLoans || len(*m.Waiting) > maxLoans:
		return nil, errors.New("more requests than a server can have")
	}
	return &Pool{
		Size:      *m.Size,
		Free:      *m.Free,
		Borrowed:  loans(*m.Borrowed),
		Waiting:   loans(*m.Waiting),
		Lock:      strings.TrimPrefix(lock.State, ":"),
		LockSince: lock.Changed,
		Timeouts:  m.Timeouts,
		LimitHits: m.LimitHits,
	}, nil
}

func loans(list []poolLoan) []Loan {
	kept := make([]Loan, 0, len(list))
	for _, l := range list {
		path, _, _ := strings.Cut(l.Reason.Request.URI, "?")
		request := strings.ToUpper(strings.TrimPrefix(l.Reason.Request.Method, ":")) + " " + path
		kept = append(kept, Loan{Request: text.Printable(request, maxPath), Seconds: min(max(0, l.Millis/1000), maxSeconds)})
	}
	return kept
}
