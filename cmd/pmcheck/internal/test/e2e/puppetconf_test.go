package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const (
	// puppetReads is what Puppet reads in some hundreds of files. The tests of package puppetconf compare what pmcheck
	// reads.
	puppetReads = "cmd/pmcheck/internal/puppetconf/testdata/puppetconf.txt"
	// puppetSettings are the settings that pmcheck knows, with Puppet's defaults.
	puppetSettings = "cmd/pmcheck/internal/puppetconf/settings.txt"
)

// TestPuppetHasTheKnownSettings asks Puppet's own library for its settings. pmcheck knows some of other versions too.
func TestPuppetHasTheKnownSettings(t *testing.T) {
	lab.Need(t, "puppet", "puppet-agent")
	ask := exec.Command("ruby", lab.File(t, "cmd/pmcheck/internal/test/e2e/testdata/puppetsettings.rb"))
	ask.Stderr = os.Stderr
	answer, err := ask.Output()
	lab.Must(t, err)

	known := strings.Split(lab.Read(t, lab.File(t, puppetSettings)), "\n")
	settings := strings.Split(strings.TrimSuffix(string(answer), "\n"), "\n")
	t.Logf("measured: Puppet has %d settings", len(settings))
	for _, setting := range settings {
		if !slices.Contains(known, setting) {
			t.Errorf("%s lacks the line %q", puppetSettings, setting)
		}
	}
}

// TestPuppetReadsTheKeptAnswers asks Puppet's own library for each of the generated files. With LAB_PUPPETCONF set, the
// answers are written, for a change of the generator or another version of Puppet.
func TestPuppetReadsTheKeptAnswers(t *testing.T) {
	lab.Need(t, "puppet", "puppet-agent")
	got := askPuppet(t, append(puppetConfs(), references(t)...))

	kept := lab.File(t, puppetReads)
	if os.Getenv("LAB_PUPPETCONF") != "" {
		lab.Must(t, os.WriteFile(kept, []byte(got), 0o644))
	}
	want := strings.Split(lab.Read(t, kept), "\n")
	lines := strings.Split(got, "\n")
	t.Logf("measured: Puppet was asked for %d files", len(lines)-1)
	if len(lines) != len(want) {
		t.Fatalf("%d files, %d answers are kept: run this with LAB_PUPPETCONF=1", len(lines)-1, len(want)-1)
	}
	for i, line := range lines {
		if line != want[i] {
			t.Errorf("Puppet reads\n%s\nkept is\n%s", line, want[i])
		}
	}
}

// askPuppet returns a line for each file: the file, and what Puppet reads in it, as far as that differs from what it
// reads in an empty file, the first. All are quoted as Go does.
func askPuppet(t *testing.T, files []string) string {
	t.Helper()
	dir := t.TempDir()
	for i, text := range files {
		lab.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.conf", i)), []byte(text), 0o644))
	}
	ask := exec.Command("ruby", lab.File(t, "cmd/pmcheck/internal/test/e2e/testdata/puppetconf.rb"), dir)
	ask.Dir, ask.Stderr = "/", os.Stderr // a relative path is completed with the directory
	ask.Env = append(os.Environ(), "HOME=/root", "LANG=C.UTF-8")
	answers, err := ask.Output()
	lab.Must(t, err)

	var b strings.Builder
	var defaults map[string]*string
	lines := bufio.NewScanner(strings.NewReader(string(answers)))
	for _, text := range files {
		var a struct {
			Dropped, Refused bool
			Values           map[string]*string
		}
		if !lines.Scan() {
			t.Fatal("Puppet has answered for some of the files only")
		}
		lab.Must(t, json.Unmarshal(lines.Bytes(), &a))
		b.WriteString(strconv.Quote(text))
		switch {
		case a.Refused:
			b.WriteString("\trefused")
		case a.Dropped:
			b.WriteString("\tdropped")
		default:
			for _, name := range slices.Sorted(maps.Keys(a.Values)) {
				value := a.Values[name]
				switch {
				case value == nil:
					b.WriteString("\t" + name + "!")
				case defaults[name] == nil || *value != *defaults[name]:
					b.WriteString("\t" + name + "=" + strconv.Quote(*value))
				}
			}
		}
		b.WriteString("\n")
		if defaults == nil {
			defaults = a.Values
		}
	}
	return b.String()
}

// references returns files that refer to each setting that Puppet has, in its default.
func references(t *testing.T) (files []string) {
	t.Helper()
	ofPuppet, _, _ := strings.Cut(lab.Read(t, lab.File(t, puppetSettings)), "# Settings that only other versions have")
	for line := range strings.Lines(ofPuppet) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		isComment := len(columns) == 1
		isComputed := columns[len(columns)-1] == "?"
		isThisFile := columns[0] == "config"
		if !isComment && !isComputed && !isThisFile {
			files = append(files, "hostcrl = /srv/$"+columns[0]+"\n")
		}
	}
	return files
}

// puppetConfs returns the files: an empty one, one for each rule of Puppet's parser, and hundreds that combine them.
func puppetConfs() []string {
	files := []string{""}
	for _, lines := range [][]string{
		{"certname = a"}, {"certname=a"}, {"\tcertname\t=\ta\t"}, {"certname = a\r"}, {"certname = a b"},
		{"certname = A"}, {"certname ="}, {"certname = \"\""}, {"certname = ''"}, {"certname = \"a\""},
		{"certname = 'a"}, {"certname = a'"}, {"certname = \"'a'\""}, {"certname = \" a\""}, {"certname = \"a \""},
		{"certname = a # b"}, {"certname = a;b"}, {"certname = a/b"}, {"certname = a\\"}, {"certname = ä"},
		{"certname = a\rb"}, {"certname = a=b"}, {"certname == a"}, {"certname = true"}, {"certname = False"},
		{"certname = \"false\""}, {"certname = a", "certname = b"}, {"certname = a", "certname ="},
		{"certname =", "certname = a"}, {"CERTNAME = a"}, {"cert-name = a"}, {"cert name = a"}, {"certname"},
		{"certname: a"}, {"= a"}, {"[main]", "certname = a"}, {"  [main]  ", "certname = a"},
		{"[ main ]", "certname = a"}, {"[main] # x", "certname = a"}, {"[main", "certname = a"},
		{"[]", "certname = a"}, {"[[main]]", "certname = a"}, {"[Main]", "certname = a"}, {"[MAIN]"}, {"[main]x=y"},
		{"[server]", "certname = a"}, {"[master]", "certname = a"}, {"[agent]", "certname = a"},
		{"[user]", "certname = a"}, {"[ca]", "certname = a"}, {"[development]", "x = y"},
		{"[main]", "certname = a", "[server]", "certname = b"}, {"[server]", "certname = b", "[main]", "certname = a"},
		{"[master]", "certname = b", "[server]", "certname = c"},
		{"[server]", "certname = c", "[master]", "certname = b"}, {"[main]", "certname = a", "[server]", "certname ="},
		{"[main]", "certname = a", "[agent]", "x = y", "[main]", "certname = b"},
		{"certname = a", "[main]", "certname = b"}, {"# comment"}, {"  # comment"}, {"; comment"}, {"// comment"},
		{"#", "", " ", "\t", "certname = a"}, {"\v", "\f"}, {"\ufeffcertname = a"}, {"\ufeff[main]", "certname = a"},
		{"\ufeff# comment", "certname = a"}, {"certname = a\ufeff"}, {"certname = \xe9"}, {"# \xe9", "certname = a"},
		{"certname = a", "x = \xff"}, {"ä = b", "certname = a"}, {"certname = a\x00"}, {"ssldir = /a\x00b"}, {"\x00"},
		{"certname = a\u00a0"}, {"\u00a0certname = a"}, {"certname = a\rssldir = /b\r"}, {"\rcertname = a"},
		{"certname = a\r\r"},

		{"ssldir = /a"}, {"ssldir = /a/"}, {"ssldir = //a//b/../c/."}, {"ssldir = a"}, {"ssldir = ./a"},
		{"ssldir = ~/a"}, {"ssldir = ~puppet/a"}, {"ssldir ="}, {"ssldir = /"}, {"ssldir = true"},
		{"ssldir = \"/a b\""}, {"ssldir = /a b"}, {"ssldir = $confdir/ssl"}, {"ssldir = ${confdir}/ssl"},
		{"ssldir = $vardir/ssl"}, {"ssldir = $confdir/ssl-$server"}, {"ssldir = $confdir/ssl-$server", "server = a"},
		{"ssldir = $confdir/ssl-$server", "[server]", "server = b"},
		{"ssldir = $confdir/ssl-$server", "[agent]", "server = b"}, {"ssldir = /$certname"}, {"ssldir = /$CERTNAME"},
		{"ssldir = /$hostname"}, {"ssldir = /$environment"}, {"ssldir = /$run_mode"}, {"ssldir = /$name"},
		{"ssldir = /$x"}, {"ssldir = /$x", "x = y"}, {"ssldir = /$server$server"}, {"ssldir = /$server_x"},
		{"ssldir = /$server-x"}, {"ssldir = /$server.x"}, {"ssldir = /$$server"}, {"ssldir = /$"}, {"ssldir = /$ x"},
		{"ssldir = /$1"}, {"ssldir = /$ä"}, {"ssldir = /${server"}, {"ssldir = /$(server)"},
		{"ssldir = /a$masterport"}, {"ssldir = /a$serverport"}, {"ssldir = /a$serverport", "masterport = 1"},
		{"ssldir = /a$masterport", "serverport = 1"}, {"ssldir = /$logdir"}, {"ssldir = $ssldir"},
		{"ssldir = $certdir"}, {"ssldir = $vardir/x", "vardir = $ssldir/y"}, {"vardir = /v"},
		{"vardir = /v", "ssldir = $vardir/ssl"}, {"confdir = /c", "ssldir = $confdir/ssl"},
		{"confdir = c", "ssldir = $confdir/s"}, {"ssldir = /a { mode = 0771 }"},
		{"ssldir = /a {owner=service,group=service,mode=0771}"}, {"ssldir = /a {mode=x}"}, {"ssldir = /a {user = x}"},
		{"ssldir = /a {}"}, {"ssldir = /a { }"}, {"ssldir = /a {,}"}, {"ssldir = /a {mode=1,}"},
		{"ssldir = /a {mode=1,,owner=x}"}, {"ssldir = /a {mode = 1 owner = x}"}, {"ssldir = /a {mode=1"},
		{"ssldir = /a mode=1}"}, {"ssldir = {mode=1}/a"}, {"ssldir = {mode=1} /a"}, {"ssldir = /a{mode=1}/b"},
		{"ssldir = /a{mode=1}{mode=2}"}, {"ssldir = {mode=1}${confdir}/a"}, {"ssldir = '/a' {mode=1}"},
		{"ssldir = '/a {mode=1}'"}, {"x = {y}"}, {"x = {mode=1}"}, {"[agent]", "x = {y}"}, {"ssldir = /a {Mode=1}"},
		{"ssldir = /a {mode='1'}"}, {"ssldir = /a {owner=é}"}, {"certdir = /a"}, {"privatekeydir = /a"},
		{"hostcert = /a"}, {"hostcert = $certdir/a.pem"}, {"hostcert ="}, {"hostprivkey = $privatekeydir/x-$certname"},
		{"localcacert = /etc/ssl/certs/ca.pem"}, {"hostcrl = /a"}, {"hostcrl = $nonesuch"}, {"hostcrl = a"},
		{"privatedir = /a", "privatekeydir = $privatedir/keys"}, {"certdir = a"}, {"hostcert = $hostcert"},
		{"hostcert = $hostprivkey", "hostprivkey = $hostcert"}, {"hostcert = $requestdir/x"},
		{"hostcert = $statedir/x"}, {"hostcert = $codedir/x"}, {"hostcert = $hostpubkey.x"}, {"hostcert = $hostcsr"},

		{"certname = $server.example.org", "server = m2"}, {"certname = $certname"}, {"certname = $x"},
		{"certname = x$environment"}, {"certname = $dns_alt_names", "dns_alt_names = a"}, {"certname = ${server}"},
		{"certname = $user"}, {"certname = $ca_server"},

		{"certificate_revocation = true"}, {"certificate_revocation = True"}, {"certificate_revocation = chain"},
		{"certificate_revocation = Chain"}, {"certificate_revocation = leaf"}, {"certificate_revocation = LEAF"},
		{"certificate_revocation = false"}, {"certificate_revocation = FALSE"}, {"certificate_revocation = \"false\""},
		{"certificate_revocation = no"}, {"certificate_revocation ="}, {"certificate_revocation = leaf # x"},
		{"[agent]", "certificate_revocation = false"}, {"[server]", "certificate_revocation = leaf"},

		{"dns_alt_names = a,b"}, {"[agent]", "dns_alt_names = a"}, {"[server]", "dns_alt_names = a"},
		{"dns_alt_names = a", "[agent]", "dns_alt_names = b"}, {"dns_alt_names = a", "[agent]", "dns_alt_names ="},
		{"dns_alt_names = puppet, $certname"}, {"[agent]", "certname = x", "dns_alt_names = puppet,$certname"},
		{"dns_alt_names = DNS:a, IP:192.0.2.1"}, {"dns_alt_names = $x"}, {"[agent]", "dns_alt_names = ${certname}"},
		{"server = a"}, {"[agent]", "server = a"}, {"[server]", "server = a"}, {"server = a", "ca_server = b"},
		{"server ="}, {"[agent]", "server = a", "[main]", "server = b"}, {"server = $certname"},
		{"server = $ca_server"}, {"ca_server = b"}, {"[agent]", "ca_server = b"}, {"server = A.Example.org"},
		{"serverport = 8141"}, {"masterport = 8141"}, {"serverport = 8141", "masterport = 8142"},
		{"[agent]", "serverport = 8141"}, {"serverport = x"}, {"serverport = 99999"}, {"serverport = 08140"},
		{"serverport ="}, {"masterport = x"}, {"serverport = $masterport"}, {"serverport = \"8141\""},

		{"environment = a"}, {"[agent]", "environment = a"}, {"[server]", "environment = a"}, {"environment ="},
		{"environment = $certname"},
		// As public sites have it: names of Puppet's CA, of its directories, and of settings that the file sets.
		{"ssldir = /nonexistent", "hostcrl = $cadir/x"}, {"ssldir = /nonexistent", "hostcrl = $cacrl"},
		{"ssldir = /nonexistent", "localcacert = $cacert"}, {"cadir = /ca", "localcacert = $cadir/ca_crt.pem"},
		{"cadir = $ssldir", "localcacert = $cadir/certs/ca.pem"}, {"ssldir = $cadir"}, {"cacrl = /crl", "hostcrl = $cacrl"},
		{"rundir = /var/run/puppet", "ssldir = $rundir/ssl"}, {"ssldir = $rundir/ssl"}, {"ssldir = $logdir/ssl"},
		{"rundir = run", "ssldir = $rundir/ssl"}, {"logdir = log", "hostcrl = $logdir/x"}, {"logdir = log"},
		{"[agent]", "rundir = /r", "[server]", "ssldir = $rundir/ssl"},
		{"[master]", "rundir = /r", "[main]", "hostcrl = $rundir"},
		{"libdir = /lib", "hostcrl = $libdir/x"}, {"runinterval = 1h", "hostcrl = /x$runinterval"},
		{"runinterval = x", "hostcrl = /x$runinterval"}, {"noop = yes", "hostcrl = /x$noop"},
		{"noop = TRUE", "hostcrl = /x$noop"},
		{"factpath = a:/b", "hostcrl = $factpath"}, {"factpath = /a/:/b", "hostcrl = $factpath"},
		{"max_errors = 007", "hostcrl = /x$max_errors"}, {"ca_name = CA of $certname", "hostcrl = /$ca_name"},
		{"server_list = a:8140,b", "hostcrl = /$server_list"}, {"statedir = $vardir/s", "hostcert = $statedir/x"},
		{"vardir = /v/$certname"}, {"vardir = /v/$server", "rundir = $vardir/r", "hostcrl = $rundir/x"},
		{"modulepath = /m"}, {"[agent]", "manifest = /m"}, {"config_version = /m"}, {"[user]", "modulepath = /m"},
		{"basemodulepath = /m"}, {"environmentpath = $confdir/environments"}, {"templatedir = $confdir/templates"},
		{"[main]", "logdir = /var/log/puppet", "vardir = /var/lib/puppet", "ssldir = /var/lib/puppet/ssl",
			"rundir = /var/run/puppet", "factpath = $vardir/lib/facter", "[master]",
			"ssl_client_header = SSL_CLIENT_S_DN", "ssl_client_verify_header = SSL_CLIENT_VERIFY"},
		{"[main]", "    # The Puppet log directory.", "    logdir = /var/log/puppet",
			"    ssldir = $vardir/ssl", "", "[agent]", "    classfile = $vardir/classes.txt",
			"    localconfig = $vardir/localconfig"},
		{"[main]", "    codedir = /etc/puppetlabs/code", "    logdir = /var/log/puppetlabs/puppet",
			"    ssldir = " + "/etc/puppetlabs/puppet/ssl", "[agent]", "    server = puppet.example.org",
			"    splay = false"},
		{"[server]", "vardir = /opt/puppetlabs/server/data/puppetserver",
			"logdir = /var/log/puppetlabs/puppetserver", "rundir = /var/run/puppetlabs/puppetserver",
			"codedir = /etc/puppetlabs/code", "[main]", "certname = m1", "server = puppet", "[agent]",
			"dns_alt_names = puppet,m1", "runinterval = 30m"},
	} {
		files = append(files, strings.Join(lines, "\n")+"\n")
	}
	files = append(files, "certname = a", "[main]\r\ncertname = a\r\nssldir = /a\r\n")

	random := rand.New(rand.NewPCG(8140, 9200))
	for range 300 {
		files = append(files, randomPuppetConf(random))
	}
	return files
}

// randomPuppetConf returns a file of up to a dozen lines. About a third have a line that costs the whole file.
func randomPuppetConf(random *rand.Rand) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	seldom := func() bool { return random.IntN(40) == 0 }

	setting := func() string {
		text := func(some ...string) string {
			return pick("", "", "$server", "$certname", "$user", "x-", "$x", "$environment", "$run_mode") + pick(some...)
		}
		path := func() string {
			below := pick("", "/etc/pki", "/srv/$server", "$confdir", "$vardir", "$ssldir", "$certdir", "$privatedir",
				"$codedir")
			return below + pick("/ssl", "/a b", "/$certname", "/./x/../y", "//", "/ssl-$masterport", "/$environment", "/é")
		}
		name := pick("certname", "ssldir", "ssldir", "certdir", "privatekeydir", "privatedir", "hostcert", "hostprivkey",
			"localcacert", "hostcrl", "vardir", "confdir", "server", "ca_server", "dns_alt_names", "certificate_revocation",
			"serverport", "masterport", "runinterval", "x")
		value := path()
		switch name {
		case "certname":
			value = text("m2", "m2.example.org", "M2", "", "m2_x", "true")
		case "server", "ca_server":
			value = text("puppet", "pool.example.org", "Pool", "")
		case "dns_alt_names":
			value = text("puppet,m2", "puppet, DNS:m2", "IP:192.0.2.1", "")
		case "certificate_revocation":
			value = pick("chain", "leaf", "false", "true", "False", "Leaf", "no", "")
		case "serverport", "masterport":
			value = pick("8140", "8141", "443", "$masterport", "x")
		case "runinterval", "x":
			value = pick("30m", "true", "$nonesuch", "$x")
		}
		quote := pick("", "", "", "", "", `"`, "'")
		value = quote + value + quote
		if seldom() {
			value = pick(`"`, "'", " ", "\"'") + value
		}
		value += pick("", "", "", "", "", "", "  ", "\t", "\r", " {mode = 0644}", " { owner = service, mode = 0771 }",
			" # why")
		if seldom() {
			value += pick(" {mode = rw}", "${confdir}", " {}", " {owner}", "\xe9", "'", "\\")
		}
		return pick("", "", "  ", "\t") + name + pick("=", " = ", "  =\t") + value
	}

	var lines []string
	for range 1 + random.IntN(11) {
		switch {
		case seldom():
			lines = append(lines, pick("[ master ]", "[main] # all", "[development]", "\ufeff[main]", "[main", "certname m2",
				"=", "modulepath = /m", "# \xe9", "-- x", "[server]]", "cert-name = m2"))
		case random.IntN(4) == 0:
			lines = append(lines, pick("[main]", "[server]", "[master]", "[agent]", "[user]", " [server] ", "\t[main]\r"))
		case random.IntN(6) == 0:
			lines = append(lines, pick("", " ", "# certname = m3", "  # [server]", "\t", "\r"))
		default:
			lines = append(lines, setting())
		}
	}
	return strings.Join(lines, "\n") + pick("", "\n", "\r\n")
}
