package answer

import "testing"

func TestMaxOutOfMasters(t *testing.T) {
	for _, tt := range []struct {
		maxOut  string
		masters int
		want    int
	}{
		{"1", 0, 1},
		{"1000", 3, 1000},
		{"1%", 200, 2},
		{"10%", 19, 1},
		{"10%", 20, 2},
		{"10%", 3, 1}, // at least one
		{"100%", 7, 7},
	} {
		var m MaxOut
		if err := m.UnmarshalText([]byte(tt.maxOut)); err != nil {
			t.Fatal(err)
		}
		if got := m.Of(tt.masters); got != tt.want || m.String() != tt.maxOut {
			t.Errorf("%s of %d is %d, want %d; it is written as %s", tt.maxOut, tt.masters, got, tt.want, m)
		}
	}
}
