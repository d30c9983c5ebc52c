package check_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

const certname = "puppet1.example.test"

// must returns v. Nothing that a test sets up may fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func newMaster(t *testing.T) *checktest.Master {
	t.Helper()
	m := must(checktest.NewMaster(t.TempDir(), certname, "127.0.0.1:0"))
	t.Cleanup(func() { m.Close() })
	return m
}

func newProber(t *testing.T, m *checktest.Master) *check.Prober {
	t.Helper()
	p := &check.Prober{Client: puppetclient.Client{
		Address:     m.Address(),
		ServerName:  m.Name,
		Credentials: &puppetclient.Credentials{Files: m.Files()},
		Timeout:     5 * time.Second,
	}}
	p.Accepts = func(context.Context) (bool, error) { return false, errors.New("not known") }
	t.Cleanup(p.Close)
	return p
}

func wantReason(t *testing.T, r check.Result, want check.Reason) {
	t.Helper()
	got := check.OK
	if r.Fault != nil {
		got = r.Fault.Reason
	}
	if got != want {
		t.Fatalf("reason %s, want %s (fault: %v)", got, want, r.Fault)
	}
}

func wantQuestions(t *testing.T, m *checktest.Master, want int64, do func()) {
	t.Helper()
	before := m.Questions()
	do()
	if asked := m.Questions() - before; asked != want {
		t.Errorf("asked %d questions, want %d", asked, want)
	}
}

// serve makes the master show leaf; install makes the probe offer leaf.
func serve(t *testing.T, m *checktest.Master, leaf *checktest.Leaf) {
	t.Helper()
	m.Leaf = leaf
	if err := errors.Join(m.WriteFiles(), m.Load()); err != nil {
		t.Fatal(err)
	}
}

func install(t *testing.T, m *checktest.Master, leaf *checktest.Leaf) {
	t.Helper()
	write(t, m.Files().Certificate, leaf.CertificatePEM())
	write(t, m.Files().Key, must(leaf.KeyPEM()))
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
