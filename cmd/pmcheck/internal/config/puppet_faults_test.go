package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestFaultsOfPuppetConfAreReported(t *testing.T) {
	const ignored = " (Puppet ignores the whole file for it, and uses its defaults)"
	for _, tt := range []struct {
		name   string
		files  map[string]string
		yaml   string
		reason check.Reason
		want   string
	}{
		{"no Puppet", nil, "probe: {certname: m1, key: /k}\n", check.NoPuppet,
			"no Puppet on this host, in /etc/puppetlabs/puppet or /etc/puppet " +
				"(set puppet.conf, or probe.certname, certificate, key, ca and crl)"},
		{"named and absent", nil, "puppet: {conf: /srv/puppet.conf}\n", check.PuppetConfUnreadable,
			"/srv/puppet.conf: no such file or directory"},
		{"a directory", map[string]string{aioConf + "/x": ""}, "", check.PuppetConfUnreadable,
			aioConf + ": is not a regular file"},
		{"too large", map[string]string{aioConf: strings.Repeat("#\n", 1<<19+1)}, "", check.PuppetConfUnreadable,
			aioConf + ": is larger than 1 MiB"},
		{"certificates of other hosts", map[string]string{aioCerts + "m2.pem": "", aioCerts + "m3.pem": ""}, "",
			check.CertnameNotKnown,
			aioConf + ": probe.certname: no certname for Puppet Server in it, and not one certificate that must be this " +
				"host's (run puppet agent, or set probe.certname)"},
		{"a certname for the agent only", map[string]string{aioConf: "[agent]\ncertname = m2\n", aioCerts + "m2.pem": "",
			aioCerts + "m3.pem": ""}, "", check.CertnameNotKnown,
			aioConf + ": probe.certname: no certname for Puppet Server in it, and not one certificate that must be this " +
				"host's (Puppet Server does not look into [agent]: move it to [main])"},
		{"circular reference",
			map[string]string{aioConf: "certname = m1\nssldir = $vardir/ssl\nvardir = $ssldir/..\n"}, "",
			check.PuppetConfMistake, aioConf + ":3: vardir: its references do not end"},
		{"certname with an unknown reference", map[string]string{aioConf: "certname = m1$x\n", aioCerts + "m2.pem": ""}, "",
			check.PuppetConfMistake,
			aioConf + ":1: certname: refers to $x, which is not a setting of Puppet (write out what it stands for)"},
		{"a setting of no program", map[string]string{aioConf: "certname = m1\nhostcrl = $a\na = /x\n"}, "",
			check.PuppetConfMistake,
			aioConf + ":2: hostcrl: refers to $a, which is not a setting of Puppet (write out what it stands for)"},
		{"references that grow", map[string]string{aioConf: "certname = m1\nssldir = /" + strings.Repeat("$server", 200) +
			"\nserver = " + strings.Repeat("x", 100) + "\n"}, "", check.PuppetConfMistake,
			aioConf + ":2: ssldir: is too long"},
		{"relative path", map[string]string{aioConf: "certname = m1\nhostcrl = ssl/crl.pem\n"}, "", check.PuppetConfMistake,
			aioConf + ":2: hostcrl: ssl/crl.pem is not an absolute path (begin it with a slash)"},
		{"a path below a home directory", map[string]string{aioConf: "certname = m1\n[server]\nssldir = ~puppet/ssl\n"}, "",
			check.PuppetConfMistake, aioConf + ":3: ssldir: ~puppet/ssl is not an absolute path (begin it with a slash)"},
		{"an empty path", map[string]string{aioConf: "certname = m1\nssldir =\n"}, "", check.PuppetConfMistake,
			aioConf + `:2: ssldir: "" is not an absolute path (begin it with a slash)`},
		{"certname of another directory", map[string]string{aioConf: "certname = m1/../x\n"}, "", check.PuppetConfMistake,
			aioConf + ":1: certname: m1/../x is not a certname (lower case, no spaces, no slash)"},
		{"certname in upper case", map[string]string{aioConf: "[main]\ncertname = M1.example.org\n"}, "",
			check.PuppetConfMistake,
			aioConf + ":2: certname: M1.example.org is not a certname (lower case, no spaces, no slash)"},
		{"a certname with a space that cannot be seen", map[string]string{aioConf: "certname = m1\u200b\n"}, "",
			check.PuppetConfMistake,
			aioConf + `:1: certname: "m1\u200b" is not a certname (lower case, no spaces, no slash)`},
		{"a certname with a no-break space", map[string]string{aioConf: "certname = m1\u00a0\n"}, "",
			check.PuppetConfMistake,
			aioConf + `:1: certname: "m1\u00a0" is not a certname (lower case, no spaces, no slash)`},
		{"an empty certname counts", map[string]string{aioConf: "certname = m1\n[server]\ncertname =\n"}, "",
			check.PuppetConfMistake, aioConf + `:3: certname: "" is not a certname (lower case, no spaces, no slash)`},
		{"no depth of revocation", map[string]string{aioConf: "certname = m1\ncertificate_revocation = none\n"}, "",
			check.PuppetConfMistake, aioConf + ":2: certificate_revocation: none is not one of chain, leaf, false " +
				"(Puppet does not start with it)"},
		{"braces around a reference", map[string]string{aioConf: "[main]\ncertname = m1\nssldir = ${confdir}/ssl\n"}, "",
			check.PuppetConfMistake, aioConf + ":3: ssldir: braces are for owner, group and mode, not confdir " +
				"(write references without braces; Puppet ignores the whole file for it, and uses its defaults)"},
		{"a byte order mark", map[string]string{aioConf: "\ufeff[main]\ncertname = m1\n"}, "", check.PuppetConfMistake,
			aioConf + `:1: "\ufeff[main]" is neither [section] nor setting = value` + ignored},
		{"text behind a section's head", map[string]string{aioConf: "[main] # everywhere\ncertname = m1\n"}, "",
			check.PuppetConfMistake,
			aioConf + `:1: "[main] # everywhere" is neither [section] nor setting = value` + ignored},
		{"Latin-1", map[string]string{aioConf: "certname = m1\n# f\xfcr alle\n"}, "", check.PuppetConfMistake,
			aioConf + ":2: is not UTF-8" + ignored},
		{"an environment as a section", map[string]string{aioConf: "certname = m1\n[development]\nx = y\n"}, "",
			check.PuppetConfMistake, aioConf + ":2: [development] is not a section of Puppet" + ignored},
		{"what belongs in environment.conf", map[string]string{aioConf: "certname = m1\nmodulepath = /m\n"}, "",
			check.PuppetConfMistake,
			aioConf + ":2: modulepath: belongs in environment.conf (Puppet does not start with it here)"},
		{"pmcheck.yaml before puppet.conf", map[string]string{aioConf: "certname = m1\nhostcrl = $a\n"}, "listen: x\n",
			check.PuppetConfMistake,
			"F:1: listen: x" + noAddress + "\n" + aioConf +
				":2: hostcrl: refers to $a, which is not a setting of Puppet (write out what it stands for)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := load(t, tt.files, tt.yaml)
			wantFaults(t, err, tt.want)
			if doubt := l.Config.Checks.Identity(); doubt.Doubt != tt.reason {
				t.Errorf("the doubt is %+v, want reason %s", doubt, tt.reason)
			}
			if d := cmp.Diff(config.Identity{}, l.Identity()); d != "" {
				t.Errorf("what would be remembered (-want +got):\n%s", d)
			}
		})
	}
}

// The Ruby master knows environments as sections.
func TestPuppet3HasSectionsOfAnyName(t *testing.T) {
	conf := "[main]\ncertname = m1\nmodulepath = /m\n[development]\nmanifest = /x\n"
	l := found(t, map[string]string{oldConf: conf, oldSSL + "x": ""}, "")
	if l.Config.Probe.Certname != "m1" {
		t.Errorf("certname %q", l.Config.Probe.Certname)
	}
}
