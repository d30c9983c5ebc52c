package status_test

import (
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

func TestNamedFindsTheMembersThatMeanAHost(t *testing.T) {
	for _, tt := range []struct{ name, fleet, names, want string }{
		{"by certname", "m1.example.com m2.example.com", "m2.example.com", "m2.example.com"},
		{"in capitals", "M1 m2", "m1.example.com", "M1"},
		{"by the first label", "m1.example.com m2.example.com", "cert m2", "m2.example.com"},
		{"by address", "192.0.2.1 192.0.2.2:9200", "m2 192.0.2.2", "192.0.2.2:9200"},
		{"with a port", "m1:9200 m2", "m1.example.com", "m1:9200"},
		{"IPv6", "2001:db8::1 [2001:db8::2]:9200", "2001:db8::2", "[2001:db8::2]:9200"},
		{"several times", "m1 m1.example.com:9300 m2", "m1.example.com", "m1 m1.example.com:9300"},
		{"of another domain", "m1.example.com m2.example.com", "m1.example.org", ""},
		{"two domains have its hostname", "m1.example.com m1.example.org", "m1.example.org m1", "m1.example.org"},
		{"and nothing else tells them apart", "m1.example.com m1.example.org", "cert m1", ""},
		{"two ports of one host", "m1.example.com m1.example.com:9300", "cert m1", "m1.example.com m1.example.com:9300"},
		{"by its hostname, which two domains have too", "m1 m1.example.com m1.example.org", "cert m1", "m1"},
		{"no hosts", "m1/status javascript:alert(1)", "m1", ""},
		{"no name", "m1 m2", "", ""},
	} {
		got := strings.Join(status.Named(strings.Fields(tt.fleet), strings.Fields(tt.names)), " ")
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
