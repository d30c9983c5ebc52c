package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFaultsOfPuppetConfAreReported(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		yaml  string
		want  string
	}{
		{"no Puppet", nil, "probe: {certname: m1, key: /k}\n",
			"no Puppet on this host: there is no /etc/puppetlabs/puppet/puppet.conf, /etc/puppetlabs/puppet/ssl, " +
				"/etc/puppet/puppet.conf, /var/lib/puppet/ssl (set puppet.conf, or probe.certname, certificate, key and ca)"},
		{"named and absent", nil, "puppet: {conf: /srv/puppet.conf}\n", "/srv/puppet.conf: no such file or directory"},
		{"a directory", map[string]string{aioConf + "/": ""}, "", "/etc/puppetlabs/puppet/puppet.conf: is a directory"},
		{"not enrolled yet", map[string]string{aioConf: ""}, "",
			"/etc/puppetlabs/puppet/puppet.conf: probe.certname: no certname in it, and no certificate of this host yet " +
				"(run puppet agent, or set probe.certname)"},
		{"circular reference, reported once",
			map[string]string{aioConf: "certname = m1\nssldir = $vardir/ssl\nvardir = ${ssldir}/..\n"}, "",
			"/etc/puppetlabs/puppet/puppet.conf:2: ssldir: circular reference to $vardir"},
		{"unknown reference", map[string]string{aioConf: "certname = m1\n[main]\nhostcrl = $nonesuch/crl.pem\n"}, "",
			"/etc/puppetlabs/puppet/puppet.conf:3: hostcrl: refers to $nonesuch, which is not known"},
		{"certname with a circular reference", map[string]string{aioConf: "certname = $certname\n"}, "",
			"/etc/puppetlabs/puppet/puppet.conf:1: certname: circular reference to $certname"},
		{"certname with an unknown reference", map[string]string{aioConf: "certname = m1$x\n", aioCerts + "m2.pem": ""}, "",
			"/etc/puppetlabs/puppet/puppet.conf:1: certname: refers to $x, which is not known"},
		{"certdir refers to an unknown certname", map[string]string{aioConf: "certdir = /x/$certname\n"}, "",
			"/etc/puppetlabs/puppet/puppet.conf:1: certdir: refers to $certname, which is not known"},
		{"upper case", map[string]string{aioConf: "certname = M1\n"}, "",
			"/etc/puppetlabs/puppet/puppet.conf:1: probe.certname: M1 is not a certname (lower case, no spaces, no slash)"},
		{"relative ssldir", map[string]string{aioConf: "certname = m1\nhostcrl = ssl/crl.pem\n"}, "",
			"/etc/puppetlabs/puppet/puppet.conf:2: probe.crl: ssl/crl.pem is not an absolute path"},
		{"too long", map[string]string{aioConf: "certname = m1\nhostcrl = /" + strings.Repeat("$a", 50) + "\na = " +
			strings.Repeat("x", 100) + "\n"}, "",
			"/etc/puppetlabs/puppet/puppet.conf:2: hostcrl: is longer than 4096 bytes"},
		{"puppet.conf before pmcheck.yaml", map[string]string{aioConf: "certname = m1\nhostcrl = $a\n"}, "listen: x\n",
			"/etc/puppetlabs/puppet/puppet.conf:2: hostcrl: refers to $a, which is not known\n" +
				"F:1: listen: x is not an address (host:port, or :9200 for every interface)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.files, tt.yaml)
			if err == nil {
				t.Fatal("accepted")
			}
			if d := cmp.Diff(tt.want, err.Error()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
