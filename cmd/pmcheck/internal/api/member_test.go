package api_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

func TestMemberURLAcceptsHostsOnly(t *testing.T) {
	for _, tt := range []struct{ member, want string }{
		{"m1", "http://m1:9200"},
		{"m1.example.com:9300", "http://m1.example.com:9300"},
		{"192.0.2.7", "http://192.0.2.7:9200"},
		{"2001:db8::7", "http://[2001:db8::7]:9200"},
		{"[2001:db8::7]", "http://[2001:db8::7]:9200"},
		{"[2001:db8::7]:9300", "http://[2001:db8::7]:9300"},
		{"fe80::1%eth0", "http://[fe80::1%25eth0]:9200"},
		{"http://m1", "http://m1:9200"},
		{"https://m1", "https://m1:9200"},
		{"https://m1:443", "https://m1:443"},
		{"https://[2001:db8::7]", "https://[2001:db8::7]:9200"},
		{"", ""},
		{"a b", ""},
		{"ftp://m1", ""},
		{"javascript:alert(1)", ""},
		{"//m1", ""},
		{"https://m1/status", ""},
		{"https://user@m1", ""},
		{"m1:0", ""},
		{"m1:99999999", ""},
		{`m1"onclick=x`, ""},
		{"fe80::1%\"><script>", ""},
		{"m1\x1b[2J", ""},
	} {
		got := ""
		u, err := api.MemberURL(tt.member)
		if err == nil {
			got = u.String()
		}
		if got != tt.want {
			t.Errorf("%q: %q, %v; want %q", tt.member, got, err, tt.want)
		}
	}
}
