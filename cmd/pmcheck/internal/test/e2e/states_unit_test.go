//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// vardir is where Puppet Server keeps facts and reports.
const vardir = "/var/lib/puppetserver"

// While hostGate exists, compiles wait. The first to wait creates hostStarted.
const (
	hostGate    = "/tmp/gate"
	hostStarted = "/tmp/started"
)

// compile starts a compile that lasts until finish is called. finish returns the
// status code that the agent got.
func (m *hostSite) compile() (finish func() string) {
	m.t.Helper()
	const script = "/etc/puppet/code/wait.sh"
	m.host.WriteFile(hostGate, "", 0o644)
	m.host.WriteFile(script, "echo >"+hostStarted+"\n"+waitScript(hostGate), 0o644)
	m.master.SetSitePP(waitManifest(script))
	var out bytes.Buffer
	cmd := m.host.Command("curl", m.agentCurl(":8140"+catalogPath(m.master.Certname()))...)
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	lab.WaitFor(m.t, 30*time.Second, 20*time.Millisecond, func() error {
		_, err := m.host.Run("test", "-e", hostStarted)
		return err
	})
	return func() string {
		m.t.Helper()
		m.host.MustRun("rm", hostGate, hostStarted)
		m.master.SetSitePP("")
		if err := cmd.Wait(); err != nil {
			m.t.Errorf("the compile in flight: %v", err)
		}
		return lastLine(out.String())
	}
}

func lastLine(text string) string { return text[strings.LastIndex(text, "\n")+1:] }

// leave makes systemd stop or reload the master while a compile is in flight.
// pmcheck must refuse at once, while Puppet Server still has its port open.
func (m *hostSite) leave(verb, state, refusal string, seen *stateTable) {
	m.t.Helper()
	finish := m.compile()
	began := time.Now()
	m.host.MustRun("systemctl", "--no-block", verb, "puppetserver")
	m.WaitRefusal(refusal, 10*time.Second)
	seen.add(state, refuses(refusal), time.Since(began), m.curl())
	if code := finish(); code != "200" {
		m.t.Errorf("the compile in flight at %s was answered %s, want 200", verb, code)
	}
	measured(m.t, verb+" with a compile in flight, from the end of the compile until systemd is done",
		lab.WaitFor(m.t, 2*time.Minute, 50*time.Millisecond, func() error {
			switch now, _ := m.host.Run("systemctl", "is-active", "puppetserver"); now {
			case "active", "inactive":
				return nil
			default:
				return fmt.Errorf("puppetserver is %s", now)
			}
		}))
}

func (m *hostSite) reload(seen *stateTable) {
	m.t.Helper()
	m.leave("reload", "`systemctl reload`, a compile in flight", "warming: unit-reloading", seen)
	measured(m.t, "reloaded to 200", m.WaitServing(2*time.Minute))
}

func (m *hostSite) stopUnit(seen *stateTable) {
	m.t.Helper()
	m.leave("stop", "`systemctl stop`, a compile in flight", "unhealthy: unit-stopping", seen)
	m.WaitRefusal("unhealthy: unit-stopped", 10*time.Second)
}

// fullDisk fills the disk, so that the facts in a request for a catalog cannot be
// stored.
func (m *hostSite) fullDisk(seen *stateTable) {
	m.t.Helper()
	if code := m.sendFacts(); code != "200" {
		m.t.Fatalf("a catalog with facts: %s, want 200", code)
	}
	m.host.MustRun("sh", "-c", "cat /dev/zero >"+vardir+"/full || true")
	began := time.Now()
	m.WaitRefusal("unhealthy: disk-full", 30*time.Second)
	seen.add("disk full (a tmpfs on `vardir`)", refuses("unhealthy: disk-full"), time.Since(began), m.curl())
	measured(m.t, "disk full, detail of the finding", lab.Finding(m.Status(), check.CheckDisk).Detail)
	if code := m.sendFacts(); code != "500" {
		m.t.Errorf("a catalog with facts on a full disk: %s, want 500", code)
	}
	m.host.MustRun("rm", vardir+"/full")
	measured(m.t, "disk free to 200", m.WaitServing(30*time.Second))
}

// sendFacts asks for a catalog as agents do, with facts, and returns the status code.
func (m *hostSite) sendFacts() string {
	m.t.Helper()
	name := m.master.Certname()
	facts := fmt.Sprintf(`%%7B%%22name%%22%%3A%%22%s%%22%%2C%%22values%%22%%3A%%7B%%22big%%22%%3A%%22%s%%22%%7D%%7D`,
		name, strings.Repeat("x", 1<<16))
	out, err := m.host.Run("curl", m.agentCurl(":8140"+catalogPath(name),
		"--data-urlencode", "facts_format=application/json", "--data-urlencode", "facts="+facts)...)
	if err != nil {
		m.t.Fatal(err)
	}
	if code := lastLine(out); code != "200" {
		measured(m.t, "a catalog with facts", out)
		return code
	}
	return "200"
}
