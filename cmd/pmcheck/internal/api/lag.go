package api

import (
	"fmt"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
)

// Lag is an environment of a master whose code is older than that of another master of
// the pool.
type Lag struct {
	Host, Environment string
	ID, Newest        string    // of the code here, and of the newest
	Since             time.Time // when a master of the pool first had the newest
	For               time.Duration
}

// String describes the lag on one line.
func (l Lag) String() string {
	return fmt.Sprintf("%s: environment %s has code %s; another master has had %s since %s (%s)", l.Host, l.Environment,
		l.ID, l.Newest, l.Since.UTC().Format(time.RFC3339), text.Age(l.For))
}

// Lags returns the environments that have lagged for longer than code.lag of their
// master, in the order of the members. The newest code is that whose first master got it
// last. Members without a status, environments that only one master has, and daemons that
// do not say since when they have their code are left out.
func Lags(members []Member) (lags []Lag) {
	pool := map[string][]check.Environment{} // by name
	for _, m := range members {
		for _, e := range m.code() {
			pool[e.Name] = append(pool[e.Name], e)
		}
	}
	newest := map[string]check.Environment{}
	for name, list := range pool {
		newest[name] = newestOf(list)
	}
	for _, m := range members {
		for _, e := range m.code() {
			newest := newest[e.Name]
			lag := m.Status.Time.Sub(newest.Since)
			if e.ID != newest.ID && lag > Seconds(m.Status.CodeLag) {
				lags = append(lags, Lag{m.Host, e.Name, e.ID, newest.ID, newest.Since, lag})
			}
		}
	}
	return lags
}

// newestOf returns the newest code in a list that is not empty, as the first master that had it.
func newestOf(list []check.Environment) (newest check.Environment) {
	first := map[string]check.Environment{} // by ID
	for _, e := range list {
		if f, known := first[e.ID]; !known || e.Since.Before(f.Since) {
			first[e.ID] = e
		}
	}
	for _, e := range list {
		if f := first[e.ID]; newest.ID == "" || f.Since.After(newest.Since) {
			newest = f
		}
	}
	return newest
}

// code returns the environments of a member that say which code they have, and since when; none
// without a status.
func (m Member) code() []check.Environment {
	if m.Status == nil {
		return nil
	}
	for _, v := range m.Status.Services {
		for _, c := range v.Checks {
			if len(c.Code) > 0 {
				return slices.DeleteFunc(slices.Clone(c.Code), func(e check.Environment) bool {
					return e.ID == "" || e.Since.IsZero()
				})
			}
		}
	}
	return nil
}
