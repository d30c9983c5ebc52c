package agent

import (
	"math"
	"testing"
)

func TestPlaces(t *testing.T) {
	for _, tc := range []struct {
		name  string
		limit uint64
		want  int
	}{
		{"plenty", 131072, 1024},
		{"no limit", math.MaxUint64, 1024},
		{"as many as connections", 1024, 960},
		{"few", 64, 8},
		{"hardly any", 20, 2},
		{"none", 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := placesOf(1024, tc.limit); got != tc.want {
				t.Errorf("%d places, want %d", got, tc.want)
			}
		})
	}
}
