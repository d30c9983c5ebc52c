package soak_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
)

// A truth is what may be so. While something changes, both may.
type truth uint8

const (
	yes    truth = 1 << iota
	no           // not so
	either = yes | no
)

// A timeline remembers what was true when. It may be used concurrently.
type timeline struct {
	mu     sync.Mutex
	spells []spell
}

type spell struct {
	since time.Time
	truth truth
}

// set says what is true from now on.
func (l *timeline) set(t truth) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spells = append(l.spells, spell{time.Now(), t})
}

// during returns what was true at some moment between two.
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

// A world is what answers depend on.
type world struct {
	held timeline // an operator holds the master
	fit  timeline // the master serves
}

func newWorld() *world {
	w := &world{}
	w.held.set(no)
	w.fit.set(yes)
	return w
}

// An answer is what a balancer was told, and when it asked and was answered.
type heard struct {
	code        int
	body        string
	asked, told time.Time
}

// judge returns an error if nothing that was true meanwhile leads to the answer,
// for a balancer that chose a code for drains.
func (w *world) judge(a heard, drainCode int) error {
	held, fit := w.held.during(a.asked, a.told), w.fit.during(a.asked, a.told)
	health, _, isVerdict := strings.Cut(a.body, ": ")
	switch {
	case held&yes != 0 && a.code == drainCode && a.body == "drain":
		return nil
	case held&no != 0 && fit&yes != 0 && a.code == http.StatusOK && a.body == answer.Serving:
		return nil
	case held&no != 0 && fit&no != 0 && a.code == http.StatusServiceUnavailable && isVerdict && health != "healthy":
		return nil
	}
	return fmt.Errorf("%d %q while held: %v, fit: %v", a.code, a.body, held, fit)
}

func (t truth) String() string {
	return map[truth]string{yes: "yes", no: "no", either: "yes or no"}[t]
}
