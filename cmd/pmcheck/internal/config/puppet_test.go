package config_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/puppetconf"
)

const (
	aioConf  = "/etc/puppetlabs/puppet/puppet.conf"
	oldConf  = "/etc/puppet/puppet.conf"
	aioSSL   = "/etc/puppetlabs/puppet/ssl/"
	aioCerts = aioSSL + "certs/"
	oldSSL   = "/var/lib/puppet/ssl/"
	debian   = "/etc/puppet/puppetserver/x"
)

func TestPuppetSettingsAreFound(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		yaml  string
		want  []string // some settings
	}{
		{name: "AIO and PE", yaml: "probe: {certname: ''}\n", // which counts as unset
			files: map[string]string{aioConf: "[main]\nserver = puppet\n[server]\ncertname = m1.example.org\n"},
			want: []string{
				"probe.address: localhost:8140 # default",
				"probe.certname: m1.example.org # " + aioConf + ":4",
				"probe.certificate: " + aioCerts + "m1.example.org.pem # " + aioConf + ":4",
				"probe.key: " + aioSSL + "private_keys/m1.example.org.pem # " + aioConf + ":4",
				"probe.ca: " + aioCerts + "ca.pem # AIO layout",
				"probe.crl: " + aioSSL + "crl.pem # AIO layout",
			}},
		{name: "Debian without puppet.conf", files: map[string]string{oldSSL + "certs/HOST.pem": "", debian: ""},
			want: []string{
				"probe.certname: HOST # certificate in /var/lib/puppet/ssl/certs",
				"probe.crl: /var/lib/puppet/ssl/crl.pem # Debian layout",
			}},
		{name: "Debian without its ssldir",
			files: map[string]string{oldConf: "certname = m1\n", "/etc/puppet/ssl/x": "", debian: ""},
			want:  []string{"probe.crl: /etc/puppet/ssl/crl.pem # Debian layout"}},
		{name: "Puppet 3",
			files: map[string]string{oldConf: "[main]\n  ssldir = $vardir/ssl\n[agent]\ncertname=a\n[main]\ncertname = m1\n"},
			want: []string{
				"probe.certname: m1 # /etc/puppet/puppet.conf:6",
				"probe.ca: /var/lib/puppet/ssl/certs/ca.pem # /etc/puppet/puppet.conf:2",
				"disk.paths: [] # default",
				"code.dir: \"\" # default",
			}},
		{name: "both, and one is named", yaml: "puppet: {conf: /etc/puppet/puppet.conf}\n",
			files: map[string]string{oldConf: "certname = old\n", aioConf: "certname = new\n", oldSSL + "x": ""},
			want: []string{
				"probe.certname: old # /etc/puppet/puppet.conf:1",
				"probe.crl: /var/lib/puppet/ssl/crl.pem # Puppet 3 layout",
			}},
		{name: "somewhere else", yaml: "puppet: {conf: /srv/puppet.conf}\n",
			files: map[string]string{"/srv/puppet.conf": "certname = m1\nprivatekeydir = $confdir/keys\n"},
			want: []string{
				"probe.key: /srv/keys/m1.pem # /srv/puppet.conf:2",
				"probe.crl: /srv/ssl/crl.pem # Puppet's default",
			}},
		{name: "nested references and metadata",
			files: map[string]string{aioConf: `# comment
server = "m1"
certname = $server.example.org
vardir = /v
[main]
ssldir = $vardir/ssl { owner = service, mode = 0771 }
hostcert = '$certdir/host-$certname.pem'
hostcrl = {mode = 0644}${vardir}//crl.pem
localcacert = /ca.pem # of $server
`},
			want: []string{
				"probe.certname: m1.example.org # " + aioConf + ":3",
				"probe.certificate: /v/ssl/certs/host-m1.example.org.pem # " + aioConf + ":7",
				"probe.ca: '/ca.pem # of m1' # " + aioConf + ":9",
				"probe.crl: /v/crl.pem # " + aioConf + ":8",
			}},
		{name: "sections by strength, first line wins",
			files: map[string]string{aioConf: "[main]\ncertname = a\n[master]\ncertname = b\n" +
				"[server]\ncertname = c\ncertname = d\n[agent]\ncertname = e\n"},
			want: []string{"probe.certname: c # " + aioConf + ":6"}},
		{name: "the master's certificate has another name", yaml: "probe: {certname: b}\n",
			files: map[string]string{aioConf: "certname = a\n", aioCerts + "b.pem": ""},
			want: []string{
				"probe.certname: b # F:1",
				"probe.certificate: " + aioCerts + "a.pem # " + aioConf + ":1",
			}},
		{name: "the master's certificate has another name, and the host that of Puppet's default",
			yaml:  "probe: {certname: puppet}\n",
			files: map[string]string{aioConf: "", aioCerts + "HOST.pem": "", aioCerts + "m2.pem": ""},
			want: []string{
				"probe.certname: puppet # F:1",
				"probe.certificate: " + aioCerts + "HOST.pem # AIO layout",
			}},
		{name: "a certificate of the configured name", yaml: "probe: {certname: b}\n",
			files: map[string]string{aioConf: "", aioCerts + "HOST.pem": "", aioCerts + "b.pem": ""},
			want:  []string{"probe.certificate: " + aioCerts + "b.pem # AIO layout"}},
		{name: "a configured name, and no certificate yet", yaml: "probe: {certname: b}\n",
			files: map[string]string{aioConf: ""},
			want:  []string{"probe.certificate: " + aioCerts + "b.pem # AIO layout"}},
		{name: "the files of the CA, which was migrated",
			files: map[string]string{aioConf: "certname = m1\nhostcrl = $cacrl\nlocalcacert = $cadir/ca_crt.pem\n"},
			want: []string{
				"probe.ca: /etc/puppetlabs/puppetserver/ca/ca_crt.pem # " + aioConf + ":3",
				"probe.crl: /etc/puppetlabs/puppetserver/ca/ca_crl.pem # " + aioConf + ":2",
			}},
		{name: "the files of the CA in ssldir",
			files: map[string]string{aioConf: "certname = m1\nhostcrl = $cacrl\n", aioSSL + "ca/x": ""},
			want:  []string{"probe.crl: " + aioSSL + "ca/ca_crl.pem # " + aioConf + ":2"}},
		{name: "names that the file sets", files: map[string]string{aioConf: "[main]\ncertname = m1\nrundir = /run/p\n" +
			"ssldir = $rundir/ssl\ncadir = $ssldir\nlocalcacert = $cadir/certs/ca.pem\n"},
			want: []string{
				"probe.ca: /run/p/ssl/certs/ca.pem # " + aioConf + ":6",
				"probe.crl: /run/p/ssl/crl.pem # " + aioConf + ":4",
			}},
		{name: "the certificate with the fullest name of this host",
			files: map[string]string{aioCerts + "HOST.example.org.pem": "", aioCerts + "HOST.pem": "", aioCerts + "m2.pem": ""},
			want:  []string{"probe.certname: HOST.example.org # certificate in " + aioSSL + "certs"}},
		{name: "the only certificate",
			files: map[string]string{aioCerts + "puppet.example.org.pem": "", aioCerts + "ca.pem": ""},
			want:  []string{"probe.certname: puppet.example.org # certificate in " + aioSSL + "certs"}},
		{name: "broken, and overridden", yaml: "probe: {certname: m1, certificate: /c, key: /k, ca: /ca, crl: /crl}\n",
			files: map[string]string{aioConf: "certname = $nonesuch\nhostcrl = x\nssldir = $ssldir\n"},
			want:  []string{"probe.crl: /crl # F:1"}},
		{name: "no Puppet", yaml: "probe: {certname: m1, certificate: /c, key: /k, ca: /ca, crl: /crl}\n",
			want: []string{"probe.crl: /crl # F:1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := found(t, tt.files, tt.yaml)
			for i, line := range tt.want {
				tt.want[i] = strings.ReplaceAll(line, "HOST", hostname(t))
			}
			if d := cmp.Diff(tt.want, values(l, tt.want...)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	must(t, err)
	return strings.ToLower(name)
}

func found(t *testing.T, files map[string]string, yaml string) *config.Loaded {
	t.Helper()
	l, err := load(t, files, yaml)
	must(t, err)
	return l
}

// load calls config.Load for a host that has the files; HOST in their names is its name. In origins, pmcheck.yaml is F.
func load(t *testing.T, files map[string]string, yaml string) (*config.Loaded, error) {
	t.Helper()
	all := map[string]string{"F": yaml}
	for name, text := range files {
		all[strings.ReplaceAll(name, "HOST", hostname(t))] = text
	}
	l, err := config.Load(config.Options{File: "F", Root: root(t, all)})
	return l, errors.Join(err, l.Doubt)
}

// What puppet.conf does not say is from the first of these: what it said last, and the default paths, where
// certificate, key and CA must fit each other. A name or path of pmcheck.yaml stands.
func TestWhatPuppetConfDoesNotSay(t *testing.T) {
	ca, err := checktest.NewCA("Puppet CA")
	must(t, err)
	issue := func(ca *checktest.CA, file string) map[string]string {
		leaf, err := ca.Issue(checktest.Template{Name: "m1"})
		must(t, err)
		key, err := leaf.KeyPEM()
		must(t, err)
		return map[string]string{
			aioConf:                         "[main]\ncertname = m1$x\n",
			aioCerts + file:                 string(leaf.CertificatePEM()),
			aioCerts + "ca.pem":             string(ca.Bundle()),
			aioSSL + "crl.pem":              "",
			aioSSL + "private_keys/" + file: string(key),
		}
	}
	other, err := checktest.NewCA("another CA")
	must(t, err)
	foreign := issue(ca, "m1.pem")
	foreign[aioCerts+"ca.pem"] = string(other.Bundle())
	said := puppetconf.Identity{Certname: "m2", Files: puppetclient.Files{
		Certificate: "/c.pem", Key: "/k.pem", CA: "/ca.pem", CRL: "/crl.pem"}}
	relative := said
	relative.Files.Key = "k.pem"

	for _, tt := range []struct {
		name       string
		files      map[string]string
		known      puppetconf.Identity
		yaml       string
		want       []string
		unverified bool
	}{
		{name: "known", files: issue(ca, "m1.pem"), known: said, want: []string{
			"probe.certname: m2 # what Puppet said last", "probe.crl: /crl.pem # what Puppet said last"}},
		{name: "known, and a name in pmcheck.yaml", files: issue(ca, "m1.pem"), known: said, yaml: "probe: {ca: /x}\n",
			want: []string{"probe.certname: m2 # what Puppet said last", "probe.ca: /x # F:1"}},
		{name: "known is not usable", files: issue(ca, "m1.pem"), known: relative, want: []string{
			"probe.certname: m1 # certificate in " + aioSSL + "certs", "probe.ca: " + aioCerts + "ca.pem # AIO layout"}},
		{name: "default paths", files: issue(ca, "m1.pem"), want: []string{
			"probe.certname: m1 # certificate in " + aioSSL + "certs",
			"probe.key: " + aioSSL + "private_keys/m1.pem # AIO layout"}},
		{name: "default paths, another CA", files: foreign, unverified: true,
			want: []string{`probe.certname: "" # default`, "probe.ca: " + aioCerts + "ca.pem # AIO layout"}},
		{name: "default paths, a file that is not named after a host", files: issue(ca, "M1.pem"), unverified: true,
			want: []string{`probe.certname: "" # default`, "probe.ca: " + aioCerts + "ca.pem # AIO layout"}},
		{name: "a certname in pmcheck.yaml", files: map[string]string{aioConf: "ssldir = x\n"},
			yaml: "probe: {certname: m3}\n", unverified: true,
			want: []string{"probe.certname: m3 # F:1", `probe.ca: "" # default`}},
		{name: "no Puppet, known", known: said, want: []string{"probe.certname: m2 # what Puppet said last"}},
		{name: "no Puppet", unverified: true, want: []string{`probe.certname: "" # default`}},
		{name: "no Puppet, and TLS ends at the balancer", yaml: "probe: {address: 'http://localhost:8080'}\n",
			want: []string{`probe.certname: "" # default`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"F": tt.yaml}
			for name, text := range tt.files {
				files[name] = text
			}
			l, err := config.Load(config.Options{File: "F", Root: root(t, files), Known: tt.known})
			must(t, err)
			if d := cmp.Diff(tt.want, values(l, tt.want...)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if doubt := l.Config.Checks.Identity(); doubt.Doubt == "" || doubt.Unverified != tt.unverified {
				t.Errorf("the doubt is %+v, want unverified %v", doubt, tt.unverified)
			}
		})
	}
}

// A mistake in puppet.conf is a doubt, told after the mistakes of pmcheck.yaml, and nothing of it is to be saved.
func TestAMistakeInPuppetConfIsADoubt(t *testing.T) {
	conf := map[string]string{aioConf: "certname = m1\nhostcrl = $a\n"}
	l, err := load(t, conf, "listen: x\n")
	wantFaults(t, err, "F:1: listen: x"+noAddress+"\n"+aioConf+
		":2: hostcrl: refers to $a, which is not a setting of Puppet (write out what it stands for)")
	if doubt := l.Config.Checks.Identity().Doubt; doubt != check.PuppetConfMistake {
		t.Errorf("the check knows of the doubt %q", doubt)
	}
	if d := cmp.Diff(puppetconf.Identity{}, l.Identity()); d != "" {
		t.Errorf("what would be saved (-want +got):\n%s", d)
	}
}
