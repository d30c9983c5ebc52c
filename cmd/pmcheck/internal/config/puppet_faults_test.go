package config_test

import (
	"strings"
	"testing"
)

func TestFaultsOfPuppetConfAreReported(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		yaml  string
		want  string
	}{
		{"no Puppet", nil, "probe: {certname: m1, key: /k}\n",
			"no Puppet on this host, in /etc/puppetlabs/puppet or /etc/puppet " +
				"(set puppet.conf, or probe.certname, certificate, key, ca and crl)"},
		{"named and absent", nil, "puppet: {conf: /srv/puppet.conf}\n", "/srv/puppet.conf: no such file or directory"},
		{"a directory", map[string]string{aioConf + "/x": ""}, "", aioConf + ": is not a regular file"},
		{"certificates of other hosts", map[string]string{aioCerts + "m2.pem": "", aioCerts + "m3.pem": ""}, "",
			aioConf + ": probe.certname: no certname in it, and no certificate of this host yet " +
				"(run puppet agent, or set probe.certname)"},
		{"circular reference",
			map[string]string{aioConf: "certname = m1\nssldir = $vardir/ssl\nvardir = ${ssldir}/..\n"}, "",
			aioConf + ":2: hostcert: its references do not end"},
		{"certname with an unknown reference", map[string]string{aioConf: "certname = m1$x\n", aioCerts + "m2.pem": ""}, "",
			aioConf + ":1: certname: refers to $x, which is not known"},
		{"doubling reference", map[string]string{aioConf: "certname = m1\nhostcrl = $a\na = $a$a\n"}, "",
			aioConf + ":3: hostcrl: its references do not end"},
		{"too large", map[string]string{aioConf: strings.Repeat("#\n", 1<<19+1)}, "", aioConf + ": is larger than 1 MiB"},
		{"relative path", map[string]string{aioConf: "certname = m1\nhostcrl = ssl/crl.pem\n"}, "",
			aioConf + ":2: hostcrl: ssl/crl.pem is not an absolute path"},
		{"certname of another directory", map[string]string{aioConf: "certname = m1/../x\n"}, "",
			aioConf + ":1: certname: m1/../x is not a certname"},
		{"pmcheck.yaml before puppet.conf", map[string]string{aioConf: "certname = m1\nhostcrl = $a\n"}, "listen: x\n",
			"F:1: listen: x" + noAddress + "\n" + aioConf + ":2: hostcrl: refers to $a, which is not known"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := load(t, tt.files, tt.yaml)
			wantFaults(t, err, tt.want)
			if got := l.Config.Probe.Certificate; got != "" {
				t.Errorf("the probe has one of several files, %s", got)
			}
		})
	}
}
