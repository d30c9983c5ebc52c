package daemon_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
)

// A golden image has the name of the host on which it was made, and each host that starts from it gets another: first
// in puppet.conf, then in a certificate, and last in the master, which restarts. All the while the master serves
// agents, and nothing is reloaded.
func TestARenamedHostStaysInService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m, err := checktest.NewMaster(filepath.Join(dir, "puppet"), "golden.example.test", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { m.Close() })
	conf := filepath.Join(m.Dir, "puppet.conf")

	source := daemon.NewSource(config.Options{
		Content: fmt.Appendf(nil, "listen: 127.0.0.1:0\npuppet: {conf: %q}\n"+
			"probe: {address: %q, interval: 200ms, timeout: 150ms}\n", conf, m.Address()),
		HoldsIn: dir,
	}, "")
	loaded, err := source.Start()
	must(t, err)
	r := &testDaemon{t: t, master: m, config: loaded.Config, store: loaded.Config.Store()}
	must(t, os.Mkdir(r.store.Persistent, 0o755))
	r.start(daemon.New(loaded, daemon.Options{Source: source, Log: io.Discard}))
	r.waitFor(200, answer.Serving) // before a good answer, a late one would be 503
	waitFor := func(certname string, doubt check.Reason) {
		t.Helper()
		r.waitUntil(func() bool {
			now := r.Status(time.Now())
			isIdentity := func(f check.Finding) bool { return f.Check == check.CheckIdentity && f.Reason == doubt }
			if code, body := r.ask("GET / HTTP/1.0\r\n\r\n"); code != 200 {
				t.Fatalf("answered %d %s", code, body)
			}
			return now.Certname == certname && slices.ContainsFunc(now.Services[0].Checks, isIdentity)
		})
	}
	waitFor("golden.example.test", check.OK)

	must(t, os.WriteFile(conf, fmt.Appendf(nil, "[main]\ncertname = m1.example.test\nssldir = %s/ssl\n", m.Dir), 0o644))
	waitFor("golden.example.test", check.CertificatePending)

	m.Name = "m1.example.test"
	m.Leaf, err = m.CA.Issue(checktest.Template{Name: m.Name})
	must(t, errors.Join(err, m.WriteFiles()))
	waitFor("m1.example.test", check.OK)

	must(t, errors.Join(m.Load(), m.Set(checktest.Stopped), m.Set(checktest.Running)))
	before := r.Status(time.Now()).Probe.Count
	r.waitUntil(func() bool { return r.Status(time.Now()).Probe.Count > before+3 })
	r.waitFor(200, answer.Serving)
}
