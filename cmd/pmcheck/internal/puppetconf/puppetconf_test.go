package puppetconf_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/puppetconf"
)

const (
	aioConf  = "/etc/puppetlabs/puppet/puppet.conf"
	oldConf  = "/etc/puppet/puppet.conf"
	aioCerts = "/etc/puppetlabs/puppet/ssl/certs/"
	oldSSL   = "/var/lib/puppet/ssl/"
	debian   = "/etc/puppet/puppetserver/x"
)

// read reads Puppet's configuration on a host that has the files.
func read(t *testing.T, files map[string]string, h puppetconf.Host) *puppetconf.Said {
	t.Helper()
	h.Root = t.TempDir()
	for name, text := range files {
		path := filepath.Join(h.Root, name)
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	}
	return puppetconf.Read(h)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The master's certificate may have any name that agents use: an agent that is told nothing asks for puppet.
func TestProbeKnowsTheNamesThatAgentsUse(t *testing.T) {
	for conf, want := range map[string][]string{
		"":                                   {"puppet"},
		"server = Pool.example.org\n":        {"pool.example.org"},
		"dns_alt_names = a.example.org, b\n": {"a.example.org", "b", "puppet"},
		"dns_alt_names = a\nserver = pool\nca_server = ca\n":                                    {"a", "pool"},
		"[agent]\ndns_alt_names = a\nserver = pool\n[server]\ndns_alt_names = b\nserver = ca\n": {"a", "b", "pool"},
	} {
		conf = "[main]\ncertname = m1\n" + conf
		said := read(t, map[string]string{oldConf: conf, debian: ""}, puppetconf.Host{})
		if d := cmp.Diff(want, said.Names); d != "" {
			t.Errorf("%q (-want +got):\n%s", conf, d)
		}
	}
}

// What Puppet's settings say beside the identity.
func TestPuppetSaysMore(t *testing.T) {
	type more struct {
		Revocation puppetclient.Revocation
		Names      []string // what the check of expiry looks at
	}
	const elsewhere = "/srv/puppet.conf"
	for _, tt := range []struct {
		conf, at string
		want     more
	}{
		{"", elsewhere, more{"chain", nil}},
		{"certificate_revocation = leaf\n", elsewhere, more{puppetclient.RevocationLeaf, nil}},
		{"certificate_revocation = False\n", elsewhere, more{puppetclient.RevocationOff, nil}},
		{"[agent]\ncertificate_revocation = false\n", elsewhere, more{"chain", nil}},
		{"dns_alt_names = puppet, DNS:Puppet.example.org,IP:192.0.2.1,\n", elsewhere,
			more{"chain", []string{"puppet", "puppet.example.org"}}},
		{"dns_alt_names = a\n[agent]\ndns_alt_names = pool,$certname\n[server]\ndns_alt_names = b\n", elsewhere,
			more{"chain", []string{"pool", "m1"}}}, // the agent requests the certificate
		{"server = ca.example.org\n", elsewhere, more{"chain", nil}}, // it may be there for the CA
		{"server = pool.example.org\nca_server = ca.example.org\n", elsewhere, more{"chain", []string{"pool.example.org"}}},
		{"[agent]\nserver = pool\nca_server = ca\n[server]\nserver = ca\n", elsewhere, more{"chain", []string{"pool"}}},
		{"server = ca\nca_server = ca\n", elsewhere, more{"chain", nil}},
	} {
		conf := "[main]\ncertname = m1\n" + tt.conf
		files := map[string]string{oldConf: conf, debian: "", elsewhere: conf}
		said := read(t, files, puppetconf.Host{Conf: tt.at})
		if d := cmp.Diff(tt.want, more{said.Files.Revocation, said.Requested}); d != "" {
			t.Errorf("%q, %q (-want +got):\n%s", tt.conf, tt.at, d)
		}
	}
}

func TestServerPortIsThatOfPuppet(t *testing.T) {
	for conf, want := range map[string]string{
		"[main]\ncertname = m1\n":                                               "",
		"[main]\ncertname = m1\nserverport = 8141\n":                            "8141",
		"[main]\ncertname = m1\nmasterport = 8142\n":                            "8142",
		"[agent]\nserverport = 1\n[server]\ncertname = m1\nserverport = 8143\n": "8143",
	} {
		if said := read(t, map[string]string{aioConf: conf}, puppetconf.Host{}); said.ServerPort != want {
			t.Errorf("%q: %q, want %q", conf, said.ServerPort, want)
		}
	}
}

func TestEnvironmentIsThatOfThisHostsAgent(t *testing.T) {
	for conf, want := range map[string]string{
		"":                       "production",
		"environment = main_1\n": "main_1",
		"environment = a\n[server]\nenvironment = b\n[agent]\nenvironment = c\n": "c",
		"environment = a/b\n": "", // no name of an environment
	} {
		conf = "[main]\ncertname = m1\n" + conf
		if said := read(t, map[string]string{aioConf: conf}, puppetconf.Host{}); said.Environment != want {
			t.Errorf("%q: %q, want %q", conf, said.Environment, want)
		}
	}
}

// What no setting has is from what puppet.conf said last, while a mistake hides it.
func TestWhatCannotBeSetIsRemembered(t *testing.T) {
	const good = "[main]\ncertname = m1\ncertificate_revocation = leaf\nserver = pool\nca_server = ca\n" +
		"dns_alt_names = puppet\n[server]\ndns_alt_names = b\n"
	saved, err := json.Marshal(read(t, map[string]string{aioConf: good}, puppetconf.Host{}).Identity)
	must(t, err)
	var said puppetconf.Identity
	must(t, json.Unmarshal(saved, &said))

	long, many := strings.Repeat("a", 254), slices.Repeat([]string{"a"}, 101)
	said.Names = append(said.Names, "", "A", "a b", "\x1b[2J", "a/b", long)
	first, forged := said, said
	first.Names = slices.Concat(said.Names, many)
	forged.Files.CA = "ca.pem"
	names, requested := []string{"puppet", "b", "pool"}, []string{"puppet", "pool"}

	type memory struct {
		Revocation       puppetclient.Revocation
		Names, Requested []string
	}
	remembered := memory{puppetclient.RevocationLeaf, names, requested}
	for _, tt := range []struct {
		name  string
		files map[string]string
		known puppetconf.Identity
		want  memory
	}{
		{"unreadable", map[string]string{aioConf + "/x": ""}, said, remembered},
		{"a line that Puppet cannot parse", map[string]string{aioConf: good + "x\n"}, said, remembered},
		{"no Puppet any more", nil, said, remembered},
		{"a name is not known", map[string]string{aioConf: "certname = m1\ndns_alt_names = $x\nserver = c\n" +
			"certificate_revocation = false\n"}, said, memory{puppetclient.RevocationOff, names, requested}},
		{"a mistake beside the names", map[string]string{aioConf: "certname = m1\nhostcrl = $x\nserver = c\n"}, said,
			memory{"chain", []string{"c"}, nil}},
		{"a name is not known, and none was", map[string]string{aioConf: "certname = m1\ndns_alt_names = $x\n"},
			puppetconf.Identity{}, memory{"chain", []string{"puppet"}, nil}},
		{"more than a hundred", nil, first, memory{puppetclient.RevocationLeaf, slices.Concat(names, many[:97]), requested}},
		{"what pmcheck has not written", nil, forged, memory{}},
	} {
		got := read(t, tt.files, puppetconf.Host{Known: tt.known})
		remembers := memory{got.Files.Revocation, got.Names, got.Requested}
		if d := cmp.Diff(tt.want, remembers); d != "" || got.Doubt == nil {
			t.Errorf("%s: doubt %v (-want +got):\n%s", tt.name, got.Doubt, d)
		}
	}
}

// FuzzRead: whatever puppet.conf contains, each mistake is one line.
func FuzzRead(f *testing.F) {
	f.Add("[main]\ncertname = m1\nssldir = $vardir/ssl { owner = service, mode = 0771 }\n")
	f.Add("certname=a\n[server]\nssldir=${a}${a}\na=$b$b\nb=$a\n[master]\nserverport=8140\n")
	f.Add("[main]\nssldir = ${confdir}/ssl\n[ master ]\nhostcrl = ~/x {mode=1}\n[development]\ncertname = \xe9\n")
	f.Add("\"certname\" = `a\nb`\n[[x]]\n= 1\n- = 2\n-=3\ncertificate_revocation=leaf")
	f.Fuzz(func(t *testing.T, text string) {
		doubt := read(t, map[string]string{aioConf: text}, puppetconf.Host{}).Doubt
		if doubt == nil {
			return
		}
		mistakes := []error{doubt}
		if several, are := doubt.(interface{ Unwrap() []error }); are {
			mistakes = several.Unwrap()
		}
		for _, one := range mistakes {
			if text := one.Error(); text == "" || strings.ContainsAny(text, "\r\n") {
				t.Errorf("not one line: %q", text)
			}
		}
	})
}
