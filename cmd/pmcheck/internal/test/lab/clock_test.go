//go:build linux

package lab_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestBetween: time in which the control runs on time counts in full, and no time
// counts more than once.
func TestBetween(t *testing.T) {
	began := time.Now()
	lab.Pause(t, 50*time.Millisecond)
	ended := time.Now()
	wall := ended.Sub(began)
	got, starved := lab.Between(began, ended), lab.Starved(began, ended)
	if got < 0 || got+starved != wall {
		t.Errorf("%v and %v starved, want %v together", got, starved, wall)
	}
	if early := lab.Between(ended, began); early != -wall {
		t.Errorf("backwards it is %v, want %v", early, -wall)
	}
}
