package monitor_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/puppetconf"
)

const (
	certname = "puppet1.example.test"
	pool     = "puppet.example.test" // what agents call it
)

// A doubt is what pmcheck cannot find out about its own host.
type doubt struct {
	name  string
	conf  string // puppet.conf, with DIR for its directory; below it, ssl has the default paths
	given string // settings of probe, in pmcheck.yaml
	shows string // the name in the master's certificate; empty for its certname

	elsewhere bool                      // the master's files are not at the default paths
	known     bool                      // what puppet.conf said last is known
	spoil     func(confDir, ssl string) // before pmcheck starts

	reason check.Reason // of the check identity
	says   string       // in its detail
}

const okLines = "[main]\ncertname = " + certname + "\n"

func doubts() []doubt {
	const (
		unreadable = check.PuppetConfUnreadable
		mistake    = check.PuppetConfMistake
		last, fit  = "pmcheck uses what it said last", "pmcheck uses the default paths"
		unverified = "pmcheck does not verify the master"
	)
	// Root reads every file, so a directory stands for one that the daemon's user cannot read.
	unread := func(confDir, _ string) { replace(filepath.Join(confDir, "puppet.conf")) }
	second := func(_, ssl string) {
		for _, file := range []string{"certs/old.example.test.pem", "private_keys/old.example.test.pem"} {
			data, err := os.ReadFile(filepath.Join(ssl, strings.Replace(file, "old.example.test", certname, 1)))
			if err = errors.Join(err, os.WriteFile(filepath.Join(ssl, file), data, 0o600)); err != nil {
				panic(err)
			}
		}
	}
	return []doubt{
		{name: "none: a reference that Puppet resolves", conf: okLines + "ssldir = $confdir/ssl-$server\n",
			spoil: func(confDir, ssl string) { rename(ssl, filepath.Join(confDir, "ssl-puppet")) }, reason: check.OK},
		{name: "unreadable, known", spoil: unread, elsewhere: true, known: true, reason: unreadable, says: last},
		{name: "unreadable, default paths", spoil: unread, reason: unreadable, says: fit},
		{name: "unreadable, known, another name in the certificate", shows: pool, spoil: unread, elsewhere: true, known: true,
			reason: unreadable, says: last},
		{name: "unreadable, default paths, another name in the certificate", shows: pool, spoil: unread, reason: unreadable,
			says: fit},
		{name: "unreadable, files elsewhere", spoil: unread, elsewhere: true, reason: puppetclient.NotVerified,
			says: unverified},
		{name: "missing, known", spoil: func(dir, _ string) { os.Remove(filepath.Join(dir, "puppet.conf")) }, elsewhere: true,
			known: true, reason: unreadable, says: last},
		{name: "an unknown reference, known", conf: okLines + "ssldir = /srv/$site\n", elsewhere: true, known: true,
			reason: mistake, says: "puppet.conf:3: ssldir: refers to $site"},
		{name: "an unknown reference, default paths", conf: okLines + "hostcrl = /srv/$site.pem\n", reason: mistake,
			says: "puppet.conf:3: hostcrl: refers to $site"},
		{name: "another certname, without a certificate", conf: "certname = m2.example.test\nssldir = MASTER/ssl\n",
			elsewhere: true, known: true, reason: check.CertificatePending, says: last},
		{name: "another certname, without a certificate, which the master has", shows: "m2.example.test",
			conf: "certname = m2.example.test\nssldir = MASTER/ssl\n", elsewhere: true, known: true,
			reason: check.CertificatePending, says: last},
		{name: "a relative path, known", conf: okLines + "ssldir = ssl\n", elsewhere: true, known: true, reason: mistake,
			says: "puppet.conf:3: ssldir: ssl is not an absolute path"},
		{name: "a path in a home directory, default paths", conf: okLines + "ssldir = ~puppet/ssl\n", reason: mistake,
			says: "puppet.conf:3: ssldir: ~puppet/ssl is not an absolute path"},
		{name: "a relative path, files elsewhere", conf: okLines + "ssldir = ssl\n", elsewhere: true,
			reason: puppetclient.NotVerified, says: unverified},
		{name: "a relative path for the certificate alone", conf: okLines + "ssldir = MASTER/ssl\nhostcert = x.pem\n",
			elsewhere: true, reason: mistake, says: "pmcheck asks without a certificate"},
		{name: "a relative path for the list alone", conf: okLines + "ssldir = MASTER/ssl\nhostcrl = x.pem\n",
			elsewhere: true, reason: mistake, says: "pmcheck looks up no CRL"},
		{name: "another certificate, which pmcheck cannot read", conf: okLines + "ssldir = MASTER/ssl\nhostcert = MASTER\n",
			elsewhere: true, known: true, reason: puppetclient.OwnFiles, says: last},
		{name: "a certname in upper case, default paths", conf: "[main]\ncertname = PUPPET1.example.test\n",
			reason: mistake, says: "puppet.conf:2: certname: PUPPET1.example.test is not a certname"},
		{name: "a certname in upper case, files elsewhere", conf: "certname = P\nssldir = MASTER/ssl\n", elsewhere: true,
			reason: puppetclient.NotVerified, says: "puppet.conf:1: certname: P is not a certname"},
		{name: "an empty certname, known", conf: okLines + "[server]\ncertname =\n", elsewhere: true, known: true,
			reason: mistake, says: "puppet.conf:4: certname: "},
		{name: "a certname for the agent alone, two certificates", conf: "[agent]\ncertname = old.example.test\n",
			spoil: second, reason: puppetclient.NotVerified, says: "Puppet Server does not look into [agent]"},
		{name: "a line that Puppet cannot parse, known", conf: okLines + "ssldir = ${confdir}/ssl\n", elsewhere: true,
			known: true, reason: mistake, says: "puppet.conf:3: ssldir: braces are for owner"},
		{name: "a byte order mark, default paths", conf: "\ufeff" + okLines, reason: mistake, says: fit},
		{name: "a certname is given, and no path is known", given: "certname: " + certname, spoil: unread,
			elsewhere: true, reason: puppetclient.NotVerified, says: unverified},
	}
}

func replace(file string) {
	if err := errors.Join(os.RemoveAll(file), os.Mkdir(file, 0o755)); err != nil {
		panic(err)
	}
}

func rename(from, to string) {
	if err := os.Rename(from, to); err != nil {
		panic(err)
	}
}

// load starts a master and returns what pmcheck finds out about it in this doubt.
func (d doubt) load(t *testing.T) (*checktest.Master, config.Config) {
	t.Helper()
	confDir := t.TempDir()
	dir := confDir
	if d.elsewhere {
		dir = t.TempDir()
	}
	m, err := checktest.NewMaster(dir, certname, "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { m.Close() })
	if d.shows != "" {
		own := m.Leaf
		m.Leaf, err = m.CA.Issue(checktest.Template{Name: d.shows})
		must(t, err)
		must(t, errors.Join(m.WriteFiles(), m.Load()))
		m.Leaf = own
		must(t, m.WriteFiles())
	}
	conf := filepath.Join(confDir, "puppet.conf")
	must(t, os.WriteFile(conf, []byte(strings.ReplaceAll(d.conf, "MASTER", dir)), 0o644))
	if d.spoil != nil {
		d.spoil(confDir, filepath.Join(dir, "ssl"))
	}

	from := config.Options{
		Content: fmt.Appendf(nil, "puppet: {conf: %q}\nprobe: {address: %q, %s}\n", conf, m.Address(), d.given),
	}
	if d.known {
		from.Known = puppetconf.Identity{Certname: certname, Files: m.Files(), Names: []string{pool}}
	}
	l, err := config.Load(from)
	must(t, err)
	c := l.Config
	c.Probe.Timeout = 20 * time.Second                           // of a busy machine
	c.Checks = c.Checks.WithSeverity(check.CheckUnit, check.Off) // of this host
	c.Checks = c.Checks.WithSeverity(check.CheckCode, check.Off)
	return m, c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestADoubtIsNotTheMastersFault: a master that serves agents is healthy, and the check identity says what is not
// known.
func TestADoubtIsNotTheMastersFault(t *testing.T) {
	for _, d := range doubts() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			_, c := d.load(t)
			verdict, result, findings := monitor.Once(t.Context(), c)
			if verdict.Health != check.Healthy {
				t.Errorf("a master that serves is %s: %s", verdict, verdict.Detail)
			}
			i := slices.IndexFunc(findings, func(f check.Finding) bool { return f.Check == check.CheckIdentity })
			if f := findings[i]; f.Reason != d.reason || !strings.Contains(f.Detail, d.says) {
				t.Errorf("identity: %s, %q; want %s, %q", f.Reason, f.Detail, d.reason, d.says)
			}
			if result.Server == nil || result.Server.Subject.CommonName != cmp.Or(d.shows, certname) {
				t.Errorf("another master answered: %v", result.Server)
			}
		})
	}
}

// TestAMasterThatDoesNotServeIsOutWhateverIsInDoubt: a doubt excuses pmcheck, never the master. Most of the time is
// spent waiting, so all doubts wait together.
func TestAMasterThatDoesNotServeIsOutWhateverIsInDoubt(t *testing.T) {
	const expiredCRL checktest.State = "expired CRL"
	loans := slices.Repeat([]check.Loan{{Request: "POST /puppet/v3/catalog/m2", Seconds: 600}}, 4)
	for _, state := range []checktest.State{expiredCRL, checktest.Stopped, checktest.Error, checktest.Denied,
		checktest.Silent, checktest.JRubyStuck} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			var all sync.WaitGroup
			for _, d := range doubts() {
				m, c := d.load(t)
				switch state {
				case expiredCRL:
					stale, err := m.CA.CRL(time.Now().Add(-time.Hour))
					must(t, err)
					must(t, os.WriteFile(cmp.Or(c.Probe.CRL, m.Files().CRL), stale, 0o600))
					must(t, m.LoadCRLs(stale))
				case checktest.JRubyStuck:
					m.SetPool(check.Pool{Size: 4, Borrowed: loans, Waiting: loans})
				case checktest.Silent:
					c.Probe.Timeout = 300 * time.Millisecond
					must(t, m.Set(state))
				default:
					must(t, m.Set(state))
				}
				all.Go(func() {
					verdict, _, _ := monitor.Once(t.Context(), c)
					noneToOffer := c.Probe.Certificate == ""
					unseen := noneToOffer && state == expiredCRL
					alone := d.reason == check.OK && state == checktest.Denied // auth.conf is the only doubt
					if serves := unseen || alone; verdict.Health.Serves() != serves {
						t.Errorf("%s: a master that is %s is %s", d.name, state, verdict)
					}
				})
			}
			all.Wait()
		})
	}
}
