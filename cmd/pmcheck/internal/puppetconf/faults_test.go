package puppetconf_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/puppetconf"
)

func TestMistakesInPuppetConfAreReported(t *testing.T) {
	thisHost := puppetconf.Host{}
	conf := func(text string) map[string]string { return map[string]string{aioConf: text} }
	const ignored = " (Puppet ignores the whole file for it, and uses its defaults)"
	for _, tt := range []struct {
		name   string
		files  map[string]string
		host   puppetconf.Host
		reason check.Reason
		want   string
	}{
		{"no Puppet", nil, puppetconf.Host{Certname: "m1", Files: puppetclient.Files{Key: "/k"}}, check.NoPuppet,
			"no Puppet on this host, in /etc/puppetlabs/puppet or /etc/puppet " +
				"(set puppet.conf, or probe.certname, certificate, key, ca and crl)"},
		{"named and absent", nil, puppetconf.Host{Conf: "/srv/puppet.conf"}, check.PuppetConfUnreadable,
			"/srv/puppet.conf: no such file or directory"},
		{"a directory", map[string]string{aioConf + "/x": ""}, thisHost, check.PuppetConfUnreadable,
			aioConf + ": is not a regular file"},
		{"too large", conf(strings.Repeat("#\n", 1<<19+1)), thisHost, check.PuppetConfUnreadable,
			aioConf + ": is larger than 1 MiB"},
		{"certificates of other hosts", map[string]string{aioCerts + "m2.pem": "", aioCerts + "m3.pem": ""}, thisHost,
			check.CertnameNotKnown,
			aioConf + ": probe.certname: no certname for Puppet Server in it, and not one certificate that must be this " +
				"host's (run puppet agent, or set probe.certname)"},
		{"a certname for the agent only", map[string]string{aioConf: "[agent]\ncertname = m2\n", aioCerts + "m2.pem": "",
			aioCerts + "m3.pem": ""}, thisHost, check.CertnameNotKnown,
			aioConf + ": probe.certname: no certname for Puppet Server in it, and not one certificate that must be this " +
				"host's (Puppet Server does not look into [agent]: move it to [main])"},
		{"circular reference",
			conf("certname = m1\nssldir = $vardir/ssl\nvardir = $ssldir/..\n"), thisHost,
			check.PuppetConfMistake, aioConf + ":3: vardir: its references do not end"},
		{"certname with an unknown reference", map[string]string{aioConf: "certname = m1$x\n", aioCerts + "m2.pem": ""},
			thisHost, check.PuppetConfMistake,
			aioConf + ":1: certname: refers to $x, which is not a setting of Puppet (write out what it stands for)"},
		{"a setting of no program", conf("certname = m1\nhostcrl = $a\na = /x\n"), thisHost,
			check.PuppetConfMistake,
			aioConf + ":2: hostcrl: refers to $a, which is not a setting of Puppet (write out what it stands for)"},
		{"references that grow", conf("certname = m1\nssldir = /" + strings.Repeat("$server", 200) +
			"\nserver = " + strings.Repeat("x", 100) + "\n"), thisHost, check.PuppetConfMistake,
			aioConf + ":2: ssldir: is too long"},
		{"relative path", conf("certname = m1\nhostcrl = ssl/crl.pem\n"), thisHost, check.PuppetConfMistake,
			aioConf + ":2: hostcrl: ssl/crl.pem is not an absolute path (begin it with a slash)"},
		{"a path below a home directory", conf("certname = m1\n[server]\nssldir = ~puppet/ssl\n"), thisHost,
			check.PuppetConfMistake, aioConf + ":3: ssldir: ~puppet/ssl is not an absolute path (begin it with a slash)"},
		{"an empty path", conf("certname = m1\nssldir =\n"), thisHost, check.PuppetConfMistake,
			aioConf + `:2: ssldir: "" is not an absolute path (begin it with a slash)`},
		{"certname of another directory", conf("certname = m1/../x\n"), thisHost, check.PuppetConfMistake,
			aioConf + ":1: certname: m1/../x is not a certname (lower case, no spaces, no slash)"},
		{"certname in upper case", conf("[main]\ncertname = M1.example.org\n"), thisHost,
			check.PuppetConfMistake,
			aioConf + ":2: certname: M1.example.org is not a certname (lower case, no spaces, no slash)"},
		{"a certname with a space that cannot be seen", conf("certname = m1\u200b\n"), thisHost,
			check.PuppetConfMistake,
			aioConf + `:1: certname: "m1\u200b" is not a certname (lower case, no spaces, no slash)`},
		{"a certname with a no-break space", conf("certname = m1\u00a0\n"), thisHost,
			check.PuppetConfMistake,
			aioConf + `:1: certname: "m1\u00a0" is not a certname (lower case, no spaces, no slash)`},
		{"an empty certname counts", conf("certname = m1\n[server]\ncertname =\n"), thisHost,
			check.PuppetConfMistake, aioConf + `:3: certname: "" is not a certname (lower case, no spaces, no slash)`},
		{"no depth of revocation", conf("certname = m1\ncertificate_revocation = none\n"), thisHost,
			check.PuppetConfMistake, aioConf + ":2: certificate_revocation: none is not one of chain, leaf, false " +
				"(Puppet does not start with it)"},
		{"braces around a reference", conf("[main]\ncertname = m1\nssldir = ${confdir}/ssl\n"), thisHost,
			check.PuppetConfMistake, aioConf + ":3: ssldir: braces are for owner, group and mode, not confdir " +
				"(write references without braces; Puppet ignores the whole file for it, and uses its defaults)"},
		{"a byte order mark", conf("\ufeff[main]\ncertname = m1\n"), thisHost, check.PuppetConfMistake,
			aioConf + `:1: "\ufeff[main]" is neither [section] nor setting = value` + ignored},
		{"text behind a section's head", conf("[main] # everywhere\ncertname = m1\n"), thisHost,
			check.PuppetConfMistake,
			aioConf + `:1: "[main] # everywhere" is neither [section] nor setting = value` + ignored},
		{"Latin-1", conf("certname = m1\n# f\xfcr alle\n"), thisHost, check.PuppetConfMistake,
			aioConf + ":2: is not UTF-8" + ignored},
		{"an environment as a section", conf("certname = m1\n[development]\nx = y\n"), thisHost,
			check.PuppetConfMistake, aioConf + ":2: [development] is not a section of Puppet" + ignored},
		{"what belongs in environment.conf", conf("certname = m1\nmodulepath = /m\n"), thisHost,
			check.PuppetConfMistake,
			aioConf + ":2: modulepath: belongs in environment.conf (Puppet does not start with it here)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said := read(t, tt.files, tt.host)
			if said.Doubt == nil {
				t.Fatal("no doubt")
			}
			if d := cmp.Diff(tt.want, said.Doubt.Error()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if said.Check.Doubt != tt.reason {
				t.Errorf("the doubt is %+v, want reason %s", said.Check, tt.reason)
			}
		})
	}
}

// The Ruby master knows environments as sections.
func TestPuppet3HasSectionsOfAnyName(t *testing.T) {
	conf := "[main]\ncertname = m1\nmodulepath = /m\n[development]\nmanifest = /x\n"
	said := read(t, map[string]string{oldConf: conf, oldSSL + "x": ""}, puppetconf.Host{})
	if said.Certname != "m1" {
		t.Errorf("certname %q", said.Certname)
	}
}
