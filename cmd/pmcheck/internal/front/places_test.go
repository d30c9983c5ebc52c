package front

import (
	"math"
	"testing"
)

func TestPlacesLeaveDescriptors(t *testing.T) {
	for limit, want := range map[uint64]int{math.MaxUint64: 1024, 131072: 1024, 1024: 128, 64: 8, 0: 1} {
		if got := placesOf(limit); got != want {
			t.Errorf("%d descriptors: %d places, want %d", limit, got, want)
		}
	}
}
