package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/puppetconf"
)

// renaming is a host that gets another name.
type renaming struct {
	t    *testing.T
	root string
	ca   *checktest.CA
}

func startRenaming(t *testing.T) *renaming {
	t.Helper()
	ca, err := checktest.NewCA("the CA")
	must(t, err)
	r := &renaming{t: t, root: root(t, nil), ca: ca}
	r.write(aioCerts+"ca.pem", string(ca.Bundle()))
	return r
}

func (r *renaming) write(path, text string) {
	r.t.Helper()
	path = filepath.Join(r.root, path)
	must(r.t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}

func (r *renaming) issue(name string) {
	r.t.Helper()
	leaf, err := r.ca.Issue(checktest.Template{Name: name})
	must(r.t, err)
	key, err := leaf.KeyPEM()
	must(r.t, err)
	r.write(aioCerts+name+".pem", string(leaf.CertificatePEM()))
	r.write(aioSSL+"private_keys/"+name+".pem", string(key))
}

// A host that gets another name has that name first, then a certificate, and its master shows the old one until it
// restarts. No step needs a reload.
func TestAChangedIdentityCountsOnceItsFilesFit(t *testing.T) {
	r := startRenaming(t)
	r.issue("golden")
	r.write(aioConf, "certname = golden\n")
	first, err := config.Load(config.Options{Root: r.root})
	must(t, err)

	r.write(aioConf, "certname = m1\n")
	early, err := first.Again(first.Identity())
	must(t, err)
	probe := early.Config.Probe
	if doubt := early.Config.Checks.Identity().Doubt; probe.Certname != "golden" || doubt != check.CertificatePending {
		t.Errorf("without the new certificate: %s, doubt %q", probe.Certname, doubt)
	}
	if !slices.Contains(probe.Names, "m1") {
		t.Errorf("the master may have m1 already, and is known by %q", probe.Names)
	}

	r.issue("m1")
	now, err := early.Again(first.Identity())
	must(t, err)
	probe = now.Config.Probe
	if doubt := now.Config.Checks.Identity().Doubt; probe.Certname != "m1" || doubt != "" || probe.Guessed {
		t.Errorf("with the new certificate: %s, doubt %q, guessed %v", probe.Certname, doubt, probe.Guessed)
	}

	restarted, err := config.Load(config.Options{Root: r.root, Known: now.Identity()})
	must(t, err)
	for name, l := range map[string]*config.Loaded{"now": now, "after a restart of pmcheck": restarted} {
		if !slices.Contains(l.Config.Probe.Names, "golden") {
			t.Errorf("%s the master may have golden still, and is known by %q", name, l.Config.Probe.Names)
		}
	}
}

// If the last identity is of no use either, there is nothing to go back to.
func TestAChangedIdentityCountsAtOnceIfTheLastIsOfNoUse(t *testing.T) {
	r := startRenaming(t)
	r.issue("golden")
	r.write(aioConf, "certname = golden\n")
	first, err := config.Load(config.Options{Root: r.root})
	must(t, err)

	r.write(aioConf, "certname = m1\n")
	must(t, os.Remove(filepath.Join(r.root, aioCerts, "golden.pem")))
	now, err := first.Again(first.Identity())
	must(t, err)
	if got := now.Config.Probe.Certname; got != "m1" {
		t.Errorf("certname %s", got)
	}
}

// The files are parsed when one has changed, also while what they say is in doubt, and never by the clock.
func TestPuppetsFilesAreReadWhenTheyChange(t *testing.T) {
	r := startRenaming(t)
	r.write("F", "log: {level: warn}\n")
	r.write(aioConf, "ssldir = x\n")
	l, err := config.Load(config.Options{Root: r.root, File: "F"})
	must(t, err)

	for _, step := range []struct {
		name string
		do   func()
		read bool
	}{
		{"nothing", func() {}, false},
		{"another file there", func() { r.write("/etc/puppetlabs/puppet/hiera.yaml", "") }, false},
		{"pmcheck.yaml, which waits for a reload", func() { r.write("F", "log: {level: x}\n") }, false},
		{"puppet.conf", func() { r.write(aioConf, "ssldir = xy\n") }, true},
		{"the mode of puppet.conf", func() { must(t, os.Chmod(filepath.Join(r.root, aioConf), 0o644)) }, true},
		{"a certificate", func() { r.issue("m1") }, true},
		{"puppet.conf again", func() { r.write(aioConf, "certname = m1\n") }, true},
		{"a certificate that is not needed", func() { r.issue("m2") }, false},
	} {
		step.do()
		again, err := l.Again(puppetconf.Identity{})
		must(t, err)
		if read := again != l; read != step.read {
			t.Errorf("%s: read %v, want %v", step.name, read, step.read)
		}
		l = again
	}
	if l.Config.Log.Level != "warn" || l.Config.Probe.Certname != "m1" {
		t.Errorf("level %s, certname %s", l.Config.Log.Level, l.Config.Probe.Certname)
	}
}
