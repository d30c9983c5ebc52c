//go:build linux

package soak_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A truth says whether a statement may be true, false, or, while it changes, either.
type truth uint8

const (
	yes truth = 1 << iota
	no
	either = yes | no
)

// A timeline records what was true at which time. It is safe for concurrent use.
type timeline struct {
	mu     sync.Mutex
	spells []spell
}

type spell struct {
	since time.Time
	truth truth
}

// set records what is true from now on.
func (l *timeline) set(t truth) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spells = append(l.spells, spell{time.Now(), t})
}

// during returns everything that was true at some moment in the interval.
func (l *timeline) during(from, to time.Time) (t truth) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.spells) - 1; i >= 0; i-- {
		if s := l.spells[i]; s.since.Before(to) {
			t |= s.truth
			if s.since.Before(from) {
				break
			}
		}
	}
	return t
}

// truths holds the statements that answers depend on.
type truths struct {
	held    timeline // an operator holds the master
	healthy timeline // the master serves
}

func newTruths() *truths {
	w := &truths{}
	w.held.set(no)
	w.healthy.set(yes)
	return w
}

// An answer is an answer to a balancer, with the times of the request and of the answer.
type answer struct {
	code            int
	body            string
	asked, answered time.Time // of the request and the answer
}

// judge returns an error if the answer was wrong at every moment between request and answer,
// for a balancer that chose drainCode for drains.
func (w *truths) judge(a answer, drainCode int) error {
	held, healthy := w.held.during(a.asked, a.answered), w.healthy.during(a.asked, a.answered)
	verdict, _, isVerdict := strings.Cut(a.body, ": ")
	switch {
	case held&yes != 0 && a.code == drainCode && a.body == "drain":
		return nil
	case held&no != 0 && healthy&yes != 0 && a.code == http.StatusOK && a.body == lab.ServingBody:
		return nil
	case held&no != 0 && healthy&no != 0 && a.code == http.StatusServiceUnavailable && isVerdict && verdict != "healthy":
		return nil
	}
	return fmt.Errorf("%d %q while held: %v, healthy: %v", a.code, a.body, held, healthy)
}

func (t truth) String() string {
	return map[truth]string{yes: "yes", no: "no", either: "yes or no"}[t]
}
