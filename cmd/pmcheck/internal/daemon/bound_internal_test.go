package daemon

import (
	"net/netip"
	"testing"
)

func TestSettingThatContradictsTheSocketUnit(t *testing.T) {
	tests := []struct {
		configured, bound string
		want              bool
	}{
		{":9200", "[::]:9200", false},
		{"0.0.0.0:9200", "[::]:9200", false},
		{":9200", "10.0.0.5:9200", false},
		{"10.0.0.5:9200", "10.0.0.5:9200", false},
		{"10.0.0.5:9200", "[::ffff:10.0.0.5]:9200", false},
		{"localhost:9200", "127.0.0.1:9200", false},
		{"[::1]:9200", "[::1]:9200", false},
		{"", "[::]:9201", false},
		{"10.0.0.5:9200", "[::]:9200", true},
		{"10.0.0.5:9200", "0.0.0.0:9200", true},
		{"10.0.0.5:9200", "10.0.0.6:9200", true},
		{"localhost:9200", "[::]:9200", true},
		{"puppet1:9200", "[::]:9200", true},
		{":9300", "[::]:9200", true},
	}
	for _, tt := range tests {
		t.Run(tt.configured+" at "+tt.bound, func(t *testing.T) {
			if got := contradicts(tt.configured, netip.MustParseAddrPort(tt.bound)); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
