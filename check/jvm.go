package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// JVM is the memory of the master's Java virtual machine at one moment.
type JVM struct {
	// OldUsed is what is used of the old generation, garbage included, and OldMax is its
	// limit. Both are 0 if the server does not report its memory pools
	// (trapperkeeper-status before 1.1.1).
	OldUsed uint64 `json:"old_used_bytes"`
	OldMax  uint64 `json:"old_max_bytes"`
	// OldAfterGC is what collections leave of the old generation; 0 until a few have been
	// seen.
	OldAfterGC uint64 `json:"old_after_gc_bytes,omitempty"`
	// FullAt is when the old generation, or the metaspace, will be full if it goes on
	// growing as it does; zero if it does not grow.
	FullAt time.Time `json:"full_at,omitzero"`
	// GCShare is the share of the time between the last three looks, or before there are
	// three since the JVM started, in which it collected garbage. GCSeconds is for how
	// long it has done so since it started.
	GCShare   float64 `json:"gc_share"`
	GCSeconds float64 `json:"gc_seconds"`
	Metaspace uint64  `json:"metaspace_bytes"`
	Threads   int     `json:"threads"`

	up                 time.Duration
	fullGCs            float64 // collections of the old generation since the start
	partGCs            float64 // of G1: collections that may include parts of it
	metaspace, classes space   // classes is the compressed class space, a part of it
}

// space is a memory pool outside the heap. Its limit is 0 if only the host's memory
// limits it.
type space struct{ used, limit float64 }

// jvmStatus is the answer of the service status-service at level debug.
type jvmStatus struct {
	Status struct {
		Experimental struct {
			JVM jvmMetrics `json:"jvm-metrics"`
		} `json:"experimental"`
	} `json:"status"`
}

type jvmMetrics struct {
	Up    float64               `json:"up-time-ms"`
	Pools map[string]memoryPool `json:"memory-pools"`
	GC    map[string]struct {
		Count  float64 `json:"count"`
		Millis float64 `json:"total-time-ms"`
	} `json:"gc-stats"`
	Threads struct {
		Count float64 `json:"thread-count"`
	} `json:"threading"`
}

type memoryPool struct {
	Type  string `json:"type"`
	Usage struct {
		Max  float64 `json:"max"` // -1 if there is no limit
		Used float64 `json:"used"`
	} `json:"usage"`
}

// maxNumber bounds each number of an answer: 1 PiB in bytes.
const maxNumber = 1 << 50

// errNoJVM means that the server is no JVM, like the Ruby master, or does not report on
// it.
var errNoJVM = errors.New("no report on the JVM")

// parseJVM reads an answer of status-service.
func parseJVM(body []byte) (*JVM, error) {
	var s jvmStatus
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, err
	}
	m := s.Status.Experimental.JVM
	if m.Up < 1 || len(m.GC) == 0 {
		return nil, fmt.Errorf("%w: up-time-ms or gc-stats is missing", errNoJVM)
	}
	if err := m.possible(); err != nil {
		return nil, err
	}
	j := &JVM{Threads: int(m.Threads.Count), up: time.Duration(m.Up) * time.Millisecond}
	for name, gc := range m.GC {
		if collectsOld(name) {
			j.fullGCs += gc.Count
		}
		if name == "G1 Young Generation" {
			j.partGCs = gc.Count
		}
		if !strings.HasSuffix(name, "Cycles") { // of ZGC and Shenandoah: they run beside the program
			j.GCSeconds += gc.Millis / 1000
		}
	}
	for name, p := range m.Pools {
		is := space{p.Usage.Used, max(0, p.Usage.Max)}
		switch {
		case name == "Metaspace":
			j.metaspace, j.Metaspace = is, uint64(is.used)
		case name == "Compressed Class Space":
			j.classes = is
		case p.Type == "HEAP" && !young(name) && uint64(is.limit) > j.OldMax:
			j.OldUsed, j.OldMax = uint64(is.used), uint64(is.limit)
		}
	}
	return j, nil
}

// possible returns an error if a number cannot come from a JVM.
func (m jvmMetrics) possible() error {
	numbers := []float64{m.Up, m.Threads.Count}
	for _, gc := range m.GC {
		numbers = append(numbers, gc.Count, gc.Millis)
	}
	for _, p := range m.Pools {
		numbers = append(numbers, p.Usage.Used, p.Usage.Max+1)
	}
	for _, n := range numbers {
		if n < 0 || n > maxNumber {
			return fmt.Errorf("%g cannot come from a JVM", n)
		}
	}
	return nil
}

// collectsOld reports whether a collector of that name collects the whole old generation
// each time it counts: of the serial, the parallel, the CMS and the G1 collector, and of
// ZGC and Shenandoah. G1's counts its full collections only.
func collectsOld(name string) bool {
	return slices.Contains([]string{"MarkSweepCompact", "PS MarkSweep", "ConcurrentMarkSweep", "G1 Old Generation",
		"ZGC Cycles", "ZGC Major Cycles", "Shenandoah Cycles"}, name)
}

// young reports whether a pool of that name holds new objects. What remains is the old
// generation, or the whole heap of a collector without generations.
func young(name string) bool {
	return slices.ContainsFunc([]string{"Eden", "Survivor", "Young", "nursery"}, func(part string) bool {
		return strings.Contains(name, part)
	})
}

// value returns the memory on one line.
func (j *JVM) value() string {
	s := fmt.Sprintf("%.0f%% of the time in GC, metaspace %s, %d threads",
		100*j.GCShare, mebibytes(j.Metaspace), j.Threads)
	switch {
	case j.OldMax == 0:
		return s
	case j.OldAfterGC == 0:
		return fmt.Sprintf("old generation %d%% of %s, %s", percent(j.OldUsed, j.OldMax), mebibytes(j.OldMax), s)
	}
	return fmt.Sprintf("old generation %d%% of %s after GC, %s", percent(j.OldAfterGC, j.OldMax), mebibytes(j.OldMax), s)
}

// heap says in words how full the old generation is.
func (j *JVM) heap() string {
	if j.OldAfterGC == 0 {
		return fmt.Sprintf("%s of %s of the old generation are in use", mebibytes(j.OldUsed), mebibytes(j.OldMax))
	}
	return fmt.Sprintf("collections leave %s of %s of the old generation in use",
		mebibytes(j.OldAfterGC), mebibytes(j.OldMax))
}

func mebibytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }
