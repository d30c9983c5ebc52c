//go:build linux

package lab_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestBetweenAndStarvedAddUpToTheElapsedTime(t *testing.T) {
	began := time.Now()
	lab.Pause(t, 50*time.Millisecond)
	ended := time.Now()
	wall := ended.Sub(began)
	got, starved := lab.Between(began, ended), lab.Starved(began, ended)
	if got < 0 || got+starved != wall {
		t.Errorf("Between returns %v and Starved %v, want %v in total", got, starved, wall)
	}
	if early := lab.Between(ended, began); early != -wall {
		t.Errorf("Between returns %v for a reversed interval, want %v", early, -wall)
	}
}
