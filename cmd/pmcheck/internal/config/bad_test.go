package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/mistake"
)

const (
	noAddress  = " is not an address (host:port, or :9200 for every interface)"
	noNetwork  = " is not a network (such as 10.0.0.0/8 or 2001:db8::/32)"
	noDuration = " is not a duration (such as 1500ms, 2s or 30d)"
	noEject    = ": cannot be eject (the masters share what it looks at, so all of them would be taken out " +
		"in the same minute)"
	noMaster   = " is not a master (such as m1 or m1:9200)"
	noDatabase = "budget.database: is not the URL of a database (such as postgresql://puppetdb.example.com/pmcheck; " +
		"the host's Puppet certificate takes the place of a password)"
)

func TestBadConfigsAreRefused(t *testing.T) {
	// The lines of syntax errors are those of yaml v3, whose parser counts from 0.
	for _, tt := range []struct{ name, yaml, want string }{
		{"unknown", "lisen: :9200\n", "F:1: unknown setting lisen (did you mean listen?)"},
		{"unknown in a section", "probe:\n  timeuot:\n", "F:2: unknown setting probe.timeuot (did you mean probe.timeout?)"},
		{"in the wrong place", "timeout: 1s\n", "F:1: unknown setting timeout (did you mean probe.timeout?)"},
		{"in one of two places", "adress: m1:8140\n",
			"F:1: unknown setting adress (did you mean probe.address or puppetdb.address?)"},
		{"a slip in its own section", "puppetdb: {adress: m1:8081}\n",
			"F:1: unknown setting puppetdb.adress (did you mean puppetdb.address?)"},
		{"too much behind it", "disk: {warn_percentage: 5}\n",
			"F:1: unknown setting disk.warn_percentage (did you mean disk.warn_percent?)"},
		{"nothing like it", "frobnicate: 1\n", "F:1: unknown setting frobnicate"},
		{"dotted", "probe.timeout: 1s\n",
			"F:1: unknown setting probe.timeout (dots are written as sections, one inside the other)"},
		{"duplicate", "listen: :1\nlisten: :2\n", "F:2: listen is set twice, first in line 1"},
		{"null", "listen:\n", "F:1: listen: has no value (write one, or leave the line out)"},
		{"null in a list", "allow: [~]\n", "F:1: allow: has no value (write one, or leave the line out)"},
		{"empty list", "allow: []\n", "F:1: allow: is empty (leave it out to allow every client)"},
		{"list for text", "listen: [a, b]\n", "F:1: listen: a list is not a value"},
		{"section for text", "listen: {a: b}\n", "F:1: listen: is neither a value nor a list of values"},
		{"list for a section", "probe: [timeout]\n", "F:1: probe: is not a section (write key: value)"},
		{"list for everything", "- listen\n", "F:1: is not a section (write key: value)"},
		{"second document", "listen: :1\n---\nlisten: :2\n", "F:2: a second document begins (remove the --- line)"},
		{"syntax", "log: {}\nlisten: [\n", "F: not YAML: line 2: did not find expected node content"},
		{"syntax in line 1", "probe: {address: :8140}\n", "F: not YAML: did not find expected node content"},
		{"not even text", "log: \x01\n", "F: not YAML: control characters are not allowed"},
		{"budget", "budget: {database: 'mysql://db/pmcheck'}\n", "F:1: " + noDatabase},
		{"budget on two hosts", "budget: {database: 'postgresql://db1,db2/pmcheck'}\n",
			"F:1: " + noDatabase},
		{"budget that is not verified", "budget: {database: 'postgresql://db/pmcheck?sslmode=require'}\n",
			"F:1: " + noDatabase},
		{"budget with a password", "budget: {database: 'postgresql://pmcheck:secret@db/pmcheck'}\n",
			"F:1: " + noDatabase},
		{"budget of nothing", "max_out: 0\nbudget: {lapse: 1s, pool: a b}\n",
			"F:1: max_out: 0 is not a number of masters (1 to 1000, or a percentage such as 5%)\n" +
				"F:2: budget.lapse: 1s is out of range (5m to 30d)\n" +
				"F:2: budget.pool: \"a b\" is not the name of a pool (letters, digits, dot, underscore and hyphen)"},
		{"more than all masters", "max_out: 101%\n",
			"F:1: max_out: 101% is not a number of masters (1 to 1000, or a percentage such as 5%)"},
		{"a number that the database refuses", "max_out: 05%\n",
			"F:1: max_out: 05% is not a number of masters (1 to 1000, or a percentage such as 5%)"},
		{"services", "services: [ca, ca, live, A]\n",
			"F:1: services: ca is listed twice\n" +
				"F:1: services: live is a reserved path\n" +
				"F:1: services: A is not the name of a service (a-z, 0-9, dot, underscore and hyphen)"},
		{"fleet", "fleet: [m1, a b, \"http://m3\", \"m4:x\", m1:70000, m1:65535, m1:0]\n",
			"F:1: fleet: \"a b\"" + noMaster + "\nF:1: fleet: http://m3" + noMaster + "\nF:1: fleet: m4:x" + noMaster +
				"\nF:1: fleet: m1:70000" + noMaster + "\nF:1: fleet: m1:0" + noMaster},
		{"addresses", "listen: 'x y:9200'\nprobe: {address: 'm1:0'}\npuppetdb: {address: ':1'}\n",
			"F:1: listen: \"x y:9200\"" + noAddress + "\n" +
				"F:2: probe.address: m1:0 is not a host and port (such as localhost:8140)\n" +
				"F:3: puppetdb.address: :1 is not a host and port (such as localhost:8081)"},
		{"networks", "allow: [10.0.0.0/33, 'fe80::1%eth0', '::ffff:10.0.0.0/104']\nstatus_allow: [10.0.0.1, 10.1.2.3/8]\n",
			"F:1: allow: 10.0.0.0/33" + noNetwork + "\nF:1: allow: fe80::1%eth0" + noNetwork + "\n" +
				"F:1: allow: ::ffff:10.0.0.0/104" + noNetwork + "\n" +
				"F:2: status_allow: 10.1.2.3/8 has bits beyond its mask (10.0.0.0/8)"},
		{"alias for a section", "probe: &a {timeout: 1s}\nlog: *a\n", "F:2: log: is not a section (write key: value)"},
		{"merge key", "probe:\n  <<: {timeout: 1s}\n", "F:2: unknown setting probe.<<"},
		{"float for a number", "disk: {eject_mib: 1.9}\n", "F:1: disk.eject_mib: 1.9 is not a whole number"},
		{"relative path", "code: {dir: code}\n", "F:1: code.dir: code is not an absolute path"},
		{"certname", "probe: {certname: M1.example.org}\n",
			"F:1: probe.certname: M1.example.org is not a certname (lower case, no spaces, no slash)"},
		{"timeout above interval", "probe: {timeout: 5s}\n",
			"F:1: probe.timeout: 5s is not below probe.interval, 5s (a probe has to end before the next begins)"},
		{"interval below timeout", "probe:\n  interval: 1s\n",
			"F:2: probe.timeout: 1.5s is not below probe.interval, 1s (a probe has to end before the next begins)"},
		{"eject for what masters share", "checks: {puppetdb: eject, code: eject, expiry: eject, disk: eject}\n",
			"F:1: checks.expiry" + noEject + "\nF:1: checks.code" + noEject + "\nF:1: checks.puppetdb" + noEject},
		{"plain HTTP to another host", "probe: {address: 'http://192.0.2.1:8080'}\n",
			"F:1: probe.address: http://192.0.2.1:8080 is not known to be on this host (plain HTTP is for a master on this " +
				"host, whose TLS ends at the balancer)"},
		{"pmcheck asks itself", "probe: {address: 'localhost:9200'}\n",
			"F:1: probe.address: localhost:9200 is where pmcheck itself listens (the address of Puppet Server, such as " +
				"localhost:8140)"},
		{"long value", "listen: " + strings.Repeat("x", 100) + "\n",
			"F:1: listen: \"" + strings.Repeat("x", 60) + `"` + noAddress},
		{"no durations", "guard: {turn: soon, wait: 1.5d, return: 999999d}\nprobe: {timeout: 5}\nbudget: {lapse: ''}\n",
			"F:1: guard.turn: soon" + noDuration + "\nF:1: guard.wait: 1.5d" + noDuration + "\nF:1: guard.return: 999999d" +
				noDuration + "\nF:2: probe.timeout: 5" + noDuration + "\nF:3: budget.lapse: " + noDuration},
		{"all at once, by line", "log: {level: loud}\nlisten: 1\ndisk:\n  eject_mib: -1\nallow: [x, y]\n",
			"F:1: log.level: loud is not one of debug, info, warn, error\n" +
				"F:2: listen: 1" + noAddress + "\n" +
				"F:4: disk.eject_mib: -1 is out of range (0 to 1048576)\n" +
				"F:5: allow: x" + noNetwork + "\n" +
				"F:5: allow: y" + noNetwork},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Load(config.Options{File: "F", Root: root(t, map[string]string{"F": tt.yaml})})
			wantFaults(t, err, tt.want)
		})
	}
}

func TestMemberURLAcceptsHostsOnly(t *testing.T) {
	for _, tt := range []struct{ member, want string }{
		{"m1", "http://m1:9200"},
		{"m1.example.com:9300", "http://m1.example.com:9300"},
		{"2001:db8::7", "http://[2001:db8::7]:9200"},
		{"[2001:db8::7]:9300", "http://[2001:db8::7]:9300"},
		{"fe80::1%eth0", "http://[fe80::1%25eth0]:9200"},
		{"", ""},
		{"javascript:alert(1)", ""},
		{"m1/status", ""},
		{"user@m1", ""},
		{`m1"onclick=x`, ""},
		{"m1\x1b[2J", ""},
	} {
		got := ""
		u, err := config.MemberURL(tt.member)
		if err == nil {
			got = u.String()
		}
		if got != tt.want {
			t.Errorf("%q: %q, %v; want %q", tt.member, got, err, tt.want)
		}
	}
}

func wantFaults(t *testing.T, err error, want string) {
	t.Helper()
	if _, is := errors.AsType[mistake.Mistake](err); !is {
		t.Fatalf("%v, want faults", err)
	}
	if d := cmp.Diff(want, err.Error()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
