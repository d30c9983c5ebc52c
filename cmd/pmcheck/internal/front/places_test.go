package front

import (
	"math"
	"testing"
)

func TestPlacesLeaveDescriptors(t *testing.T) {
	for _, tc := range []struct {
		name      string
		listeners int
		limit     uint64
		want      int
	}{
		{"high limit", 3, 131072, 1024},
		{"no limit", 3, math.MaxUint64, 1024},
		{"as many as connections", 1, 1024, 960},
		{"shared by three listeners", 3, 1024, 320},
		{"low limit", 1, 64, 8},
		{"tiny limit", 1, 20, 2},
		{"no descriptors", 3, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := placesOf(tc.listeners, tc.limit); got != tc.want {
				t.Errorf("%d places, want %d", got, tc.want)
			}
		})
	}
}
