package front

import (
	"math"
	"testing"
)

func TestPlaces(t *testing.T) {
	for _, tc := range []struct {
		name      string
		listeners int
		limit     uint64
		want      int
	}{
		{"plenty", 3, 131072, 1024},
		{"no limit", 3, math.MaxUint64, 1024},
		{"as many as connections", 1, 1024, 960},
		{"shared by three listeners", 3, 1024, 320},
		{"few", 1, 64, 8},
		{"hardly any", 1, 20, 2},
		{"none", 3, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := placesOf(1024, tc.listeners, tc.limit); got != tc.want {
				t.Errorf("%d places, want %d", got, tc.want)
			}
		})
	}
}
