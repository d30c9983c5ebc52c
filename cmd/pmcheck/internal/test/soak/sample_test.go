//go:build linux

package soak_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// A series is what a resource of the daemon was, second by second.
type series struct {
	name  string
	unit  string  // with the space before it
	noise float64 // what it may seem to grow by, in its unit
	share float64 // the same, of its level

	at     []float64 // seconds since the start
	values []float64
}

func (s *series) add(at time.Duration, value float64) {
	s.at, s.values = append(s.at, at.Seconds()), append(s.values, value)
}

// settled is the series without its first fifth: buffers and the heap grow to
// what the load needs, and the runtime starts the threads it will have.
func (s *series) settled() *series {
	rest := *s
	n := len(s.at) / 5
	rest.at, rest.values = s.at[n:], s.values[n:]
	return &rest
}

// fit returns the line through the values with the least squares: its slope per
// second and its level in the middle, which is the mean.
func (s *series) fit() (slope, level float64) {
	n := float64(len(s.at))
	var middle float64
	for i := range s.at {
		middle += s.at[i] / n
		level += s.values[i] / n
	}
	var covariance, variance float64
	for i, at := range s.at {
		covariance += (at - middle) * (s.values[i] - level)
		variance += (at - middle) * (at - middle)
	}
	return covariance / variance, level
}

// grown is what the line rises by over the whole time.
func (s *series) grown() float64 {
	slope, _ := s.fit()
	return slope * (s.at[len(s.at)-1] - s.at[0])
}

// allowed is what it may rise by and still be flat.
func (s *series) allowed() float64 {
	_, level := s.fit()
	return max(s.noise, s.share*level)
}

func (s *series) flat() bool { return s.grown() <= s.allowed() }

// resources are what a leak would show in.
type resources struct{ memory, goroutines, descriptors *series }

// newResources says how steep is not flat. A connection is a descriptor and two
// goroutines for a millisecond, so a sample is off by a few, and a line through n
// of them ends off by 3.5/√n of that: less than 1 in the long form, 2 in the short.
// A leak of one for each restart would be 6, of one for each rotation 24, of one
// for each toggle hundreds. Memory is the heap's, which moves between collections,
// by a few percent; of one answer in 100 a leak of 1 KiB would be 7 MiB in the
// long form. In the short one the heap still settles.
func newResources(long bool) resources {
	noise, share, count := 4.0, 0.1, 8.0
	if long {
		noise, share, count = 1, 0.05, 4
	}
	return resources{
		memory:      &series{name: "resident memory", unit: " MiB", noise: noise, share: share},
		goroutines:  &series{name: "goroutines", noise: count},
		descriptors: &series{name: "descriptors", noise: count},
	}
}

func (r resources) all() []*series { return []*series{r.memory, r.goroutines, r.descriptors} }

// watch samples a process each second until ctx ends.
func (r resources) watch(ctx context.Context, pid int, address string) error {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return err
	}
	began, tick := time.Now(), time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		status, err := proc.NewStatus()
		if err != nil {
			return err
		}
		descriptors, err := proc.FileDescriptorsLen()
		if err != nil {
			return err
		}
		goroutines, err := countGoroutines(address)
		if err != nil {
			return err
		}
		at := time.Since(began)
		r.memory.add(at, float64(status.VmRSS)/(1<<20))
		r.descriptors.add(at, float64(descriptors))
		r.goroutines.add(at, float64(goroutines))
	}
}

func countGoroutines(address string) (int, error) {
	a, err := ask(http.DefaultClient, "http://"+address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^go_goroutines (\d+)$`).FindStringSubmatch(a.body)
	if found == nil {
		return 0, fmt.Errorf("/metrics: %d without go_goroutines", a.code)
	}
	return strconv.Atoi(found[1])
}

// A leak is told from noise.
func TestFlat(t *testing.T) {
	for _, test := range []struct {
		name string
		leak float64 // per second
		want bool
	}{
		{"noise", 0, true},
		{"shrinks", -0.1, true},
		{"one in ten seconds", 0.1, false},
		{"one per second", 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newResources(true).descriptors
			for i := range 600 {
				s.add(time.Duration(i)*time.Second, 20+float64(i*7919%11-5)+test.leak*float64(i))
			}
			if got := s.settled().flat(); got != test.want {
				t.Errorf("flat is %v with growth %.2f, want %v", got, s.settled().grown(), test.want)
			}
		})
	}
}
