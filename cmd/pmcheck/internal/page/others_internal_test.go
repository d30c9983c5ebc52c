package page

import (
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

func TestThePageLinksToNoNameOfItsOwnMaster(t *testing.T) {
	for _, tt := range []struct {
		name, fleet, want string
	}{
		{"by certname", "puppet1.example.com puppet2.example.com", "puppet2.example.com"},
		{"by hostname", "m1.example.com m2.example.com", "m2.example.com"},
		{"by address", "192.0.2.1 192.0.2.2:9200", "192.0.2.2:9200"},
		{"by IPv6 address and port", "[2001:db8::1]:9200 2001:db8::2", "2001:db8::2"},
		{"by a short name", "puppet1 puppet2", "puppet2"},
		{"another domain has its hostname", "m1.example.org puppet1.example.com", "m1.example.org"},
		{"not in it", "puppet3 puppet4", "puppet3 puppet4"},
	} {
		s := api.Status{Certname: "puppet1.example.com", Fleet: strings.Fields(tt.fleet)}
		var got []string
		for _, m := range others(s, []string{"m1", "192.0.2.1", "2001:db8::1"}) {
			got = append(got, m.Name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: links %q, want %q", tt.name, got, tt.want)
		}
	}
}
