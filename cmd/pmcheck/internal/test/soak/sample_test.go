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
	name   string
	unit   string  // with the space before it
	noise  float64 // growth that counts as noise, in units
	share  float64 // growth that counts as noise, as a fraction of the level
	values []float64
}

// level returns the mean of the last third, and grown by how much it is above that of the second. In the
// first third, buffers and the heap grow to the size that the load needs, and the runtime starts its threads.
func (s *series) level() float64 { return mean(s.values[2*len(s.values)/3:]) }

func (s *series) grown() float64 {
	n := len(s.values) / 3
	return s.level() - mean(s.values[n:2*n])
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return m
}

// allowed returns by how much a series may grow.
func (s *series) allowed() float64 { return max(s.noise, s.share*s.level()) }

// resources holds the resources in which a leak would show.
type resources struct{ memory, goroutines, descriptors *series }

// newResources sets the limits of growth. A connection uses a descriptor and two goroutines for a millisecond, so
// a sample is off by a few. A leak of one per restart would add 3 in a third of the run, one per rotation 10, and
// one per toggle hundreds. Memory is mostly heap, whose size varies by a few percent between collections.
func newResources() resources {
	return resources{
		memory:      &series{name: "resident memory", unit: " MiB", noise: 1, share: 0.05},
		goroutines:  &series{name: "goroutines", noise: 4},
		descriptors: &series{name: "descriptors", noise: 4},
	}
}

func (r resources) all() []*series { return []*series{r.memory, r.goroutines, r.descriptors} }

// watch samples a process each second until ctx ends.
func (r resources) watch(ctx context.Context, pid int, address string) error {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return err
	}
	tick := time.NewTicker(time.Second)
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
		r.memory.values = append(r.memory.values, float64(status.VmRSS)/(1<<20))
		r.descriptors.values = append(r.descriptors.values, float64(descriptors))
		r.goroutines.values = append(r.goroutines.values, float64(goroutines))
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
