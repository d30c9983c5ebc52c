package api

import (
	"cmp"
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

// deployed is the code of one environment on one master.
type deployed struct {
	member int // its place in the list
	check.Environment
}

// Lags returns the environments that have lagged for longer than code.lag of their
// master, in the order of the members. The newest code is that whose first master got it
// last. Members without a status, environments that only one master has, and daemons that
// do not say since when they have their code are left out.
func Lags(members []Member) (lags []Lag) {
	environments := map[string][]deployed{}
	for i := range members {
		for _, e := range members[i].code() {
			if e.ID != "" && !e.Since.IsZero() {
				environments[e.Name] = append(environments[e.Name], deployed{i, e})
			}
		}
	}
	place := map[string]int{}
	for _, list := range environments {
		id, since := newest(list)
		for _, d := range list {
			m := members[d.member]
			lag := m.Status.Time.Sub(since)
			if d.ID != id && lag > time.Duration(m.Status.CodeLag*float64(time.Second)) {
				lags = append(lags, Lag{m.Host, d.Name, d.ID, id, since, lag})
				place[m.Host] = d.member
			}
		}
	}
	slices.SortFunc(lags, func(a, b Lag) int {
		return cmp.Or(cmp.Compare(place[a.Host], place[b.Host]), cmp.Compare(a.Environment, b.Environment))
	})
	return lags
}

// newest returns the newest code in a list that is not empty, and since when a master has
// had it.
func newest(list []deployed) (id string, since time.Time) {
	first := map[string]time.Time{}
	for _, d := range list {
		if at, known := first[d.ID]; !known || d.Since.Before(at) {
			first[d.ID] = d.Since
		}
	}
	for _, d := range list {
		if at := first[d.ID]; id == "" || at.After(since) {
			id, since = d.ID, at
		}
	}
	return id, since
}

// code returns the environments of a member; none without a status.
func (m Member) code() []check.Environment {
	if m.Status == nil {
		return nil
	}
	for _, v := range m.Status.Services {
		for _, c := range v.Checks {
			if len(c.Code) > 0 {
				return c.Code
			}
		}
	}
	return nil
}
