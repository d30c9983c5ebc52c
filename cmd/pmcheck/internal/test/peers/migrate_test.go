package peers_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestOnlyFromBecomesAllow: the migration keeps out whom xinetd kept out, by the rules of xinetd.conf(5), or says what
// it cannot translate.
func TestOnlyFromBecomesAllow(t *testing.T) {
	const port = "port = 9200\n"
	for _, tt := range []struct {
		name, service, want string
	}{
		{"none", port, ""},
		{"addresses", port + "only_from = 192.0.2.5 2001:db8::5", `"192.0.2.5", "2001:db8::5", `},
		{"zeros stand for a network", port + "only_from = 192.0.2.0 10.0.0.0 0.0.0.0",
			`"192.0.2.0/24", "10.0.0.0/8", "0.0.0.0/0", `},
		{"factors", port + "only_from = 192.0.2.{5,6} 198.51.{100,101}",
			`"192.0.2.5", "192.0.2.6", "198.51.100.0/24", "198.51.101.0/24", `},
		{"masks", port + "only_from = 10.1.2.3/8 192.0.2.77/27 2001:db8::/32",
			`"10.0.0.0/8", "192.0.2.64/27", "2001:db8::/32", `},
		{"several lines", port + "only_from = 192.0.2.5\nonly_from += 192.0.2.6", `"192.0.2.5", "192.0.2.6", `},
		{"in place of the defaults", "}\ndefaults\n{\nonly_from = 192.0.2.1\n}\nservice check\n{\n" + port +
			"only_from = 192.0.2.5", `"192.0.2.5", `},
		{"the defaults", "}\ndefaults\n{\nonly_from = 192.0.2.1\n}\nservice check\n{\n" + port, `"192.0.2.1", `},
		{"of another service", "port = 9201\nonly_from = 192.0.2.1\n}\nservice check\n{\n" + port, ""},
		{"a port in /etc/services", "only_from = 192.0.2.5", `"192.0.2.5", `},
		{"a host with a name", port + "only_from = localhost", `"127.0.0.1"`},

		{"a domain", port + "only_from = .example.com", "cannot be translated: .example.com"},
		{"a name that is not known", port + "only_from = lb1.invalid", "cannot be translated: lb1.invalid"},
		{"not an address", port + "only_from = 192.0.2.256", "cannot be translated: 192.0.2.256"},
		{"all but some", port + "only_from = 192.0.2.0\nno_access = 192.0.2.9",
			"cannot be translated: no_access = 192.0.2.9"},
		{"less than the defaults", port + "only_from -= 192.0.2.9",
			"cannot be translated: only_from -= 192.0.2.9"},
		{"nobody", port + "only_from =", "cannot be translated: only_from without an address"},
	} {
		file := filepath.Join(t.TempDir(), "check")
		lab.Write(t, file, "service puppetserver_check\n{\n"+tt.service+"\n}\n")
		out, err := exec.Command("sh", example(t, "migrate-from-xinetd/migrate.sh"), "--allow", file).Output()

		translated := !strings.HasPrefix(tt.want, "cannot")
		got, want := strings.TrimSpace(string(out)), tt.want
		if translated && want != "" {
			want = "allow: [" + want
		}
		if !strings.HasPrefix(got, want) || (got == "") != (want == "") || (err == nil) != translated {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, want)
		}
		own := strings.Contains(got, `"127.0.0.0/8"`) && strings.Contains(got, `"::1"`)
		if translated && got != "" && !own {
			t.Errorf("%s: this host cannot ask itself: %s", tt.name, got)
		}
	}
}
