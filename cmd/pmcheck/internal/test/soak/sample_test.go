//go:build linux

package soak_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/prometheus/procfs"
)

// A series holds the daemon's use of a resource, with one value per second.
type series struct {
	name  string
	unit  string  // with the space before it
	noise float64 // growth that counts as noise, in units
	share float64 // growth that counts as noise, as a fraction of the level

	at     []float64 // seconds since the start
	values []float64
}

func (s *series) add(at time.Duration, value float64) {
	s.at, s.values = append(s.at, at.Seconds()), append(s.values, value)
}

// settled returns the series without its first fifth, in which buffers and the heap grow to
// the size that the load needs, and the runtime starts its threads.
func (s *series) settled() *series {
	rest := *s
	n := len(s.at) / 5
	rest.at, rest.values = s.at[n:], s.values[n:]
	return &rest
}

// fit returns the least squares line through the values: its slope per second, and its level
// in the middle, which is the mean.
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

// grown returns by how much the line rises over the whole time.
func (s *series) grown() float64 {
	slope, _ := s.fit()
	return slope * (s.at[len(s.at)-1] - s.at[0])
}

// allowed returns by how much the line of a flat series may rise.
func (s *series) allowed() float64 {
	_, level := s.fit()
	return max(s.noise, s.share*level)
}

func (s *series) flat() bool { return s.grown() <= s.allowed() }

// resources holds the resources in which a leak would show.
type resources struct{ memory, goroutines, descriptors *series }

// newResources sets the limits of growth. A connection uses a descriptor and two goroutines
// for a millisecond, so a sample is off by a few. The growth of the line fitted through n
// samples has a standard error of 3.5/√n (√12/√n) times that: less than 1 in the long form, 2
// in the short one. A leak of one per restart would add 6, one per rotation 24, and one per
// toggle hundreds. Memory is mostly heap, whose size varies by a few percent between
// collections. A leak of 1 KiB in one of 100 answers would add 7 MiB in the long form. In the
// short form the heap is still settling.
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
