package peers_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// assignedNodes is how many nodes PuppetDB knows. Odd nodes belong to puppet1, even ones to puppet2. The first
// thousand of them connect.
const (
	assignedNodes = 10_000
	connecting    = 1_000
)

// TestNodesPreferTheirMasterInPuppetDB runs examples/haproxy/assign on a host with HAProxy, beside a PuppetDB and two
// simulated masters.
func TestNodesPreferTheirMasterInPuppetDB(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	s := startAssignSite(t)
	if got := s.mastersOf(1, 6); len(got) != 2 {
		t.Errorf("before the first map, node 1 goes to %v, want both masters", got)
	}
	s.loadNodes()
	took := s.assign()
	t.Logf("measured: a map of %d nodes replaced in %.1f s", assignedNodes, took.Seconds())
	if n := len(s.inUse()); n != assignedNodes {
		t.Fatalf("the map has %d nodes, want %d", n, assignedNodes)
	}

	for _, test := range []struct {
		name string
		run  func(assignSite)
	}{
		{"each node goes to its master", assignSite.testPreference},
		{"the timer moves a node, whose open connection lives on", assignSite.testTimer},
		{"nodes of a master that is drained or dead go elsewhere and come back", assignSite.testOut},
		{"nodes of a master that is full go elsewhere", assignSite.testFull},
		{"a reload of HAProxy keeps the map", assignSite.testReload},
		{"a reload of HAProxy amid a replacement keeps the last map", assignSite.testReloadAmid},
		{"the last map stays on any doubt", assignSite.testDoubt},
		{"what nodes say of themselves", assignSite.testForeign},
		{"a thousand nodes, and a drain while the map is replaced", assignSite.testThousand},
		{"HAProxy does not prepare a version", assignSite.testNoVersion},
		{"PuppetDB is down", assignSite.testDown},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := *s
			in.t = t
			test.run(in)
		})
	}
}

func (s assignSite) testPreference() {
	for node := range 6 {
		s.waitGoesTo(node, assigned(node))
	}
}

func (s assignSite) testTimer() {
	const node = 3
	old := s.mustConnect(node)
	s.lb.MustRun("systemctl", "start", "haproxy-assign.timer")
	s.setMaster(node, "puppet2")
	s.waitGoesTo(node, "puppet2")
	s.waitGoesTo(5, "puppet1")
	if err := old.request(); err != nil || old.master != "puppet1" {
		s.t.Errorf("an open connection of a moved node, to %s: %v", old.master, err)
	}
	s.lb.MustRun("systemctl", "stop", "haproxy-assign.timer")
	s.assign() // joins a run that has begun, and may have read what is replaced now
	s.setMaster(node, "puppet1")
	s.assign()
	s.waitGoesTo(node, "puppet1")
}

func (s assignSite) testOut() {
	const node = 1
	for _, step := range []struct{ typed, body, status, back string }{
		{"drain", "drain", "NOLB", "ready"},
		{"maint", "maint", "DOWN", "ready"},
		{"stopped", "unhealthy: refused", "DOWN", "running"},
	} {
		old := s.mustConnect(node)
		s.masters["puppet1"].Type(step.typed, step.body)
		s.waitStatus("puppet1", step.status)
		if got := s.mastersOf(node, 3); got["puppet2"] != 3 {
			s.t.Errorf("%s: the node of puppet1 goes to %v, want puppet2", step.typed, got)
		}
		if err := old.request(); err != nil && step.typed != "stopped" {
			s.t.Errorf("%s: an open connection: %v", step.typed, err)
		}
		old.Close()
		s.masters["puppet1"].Type(step.back, lab.ServingBody)
		s.waitStatus("puppet1", "UP")
		s.waitGoesTo(node, "puppet1")
	}
}

// testFull fills puppet1 with two connections and has a third one wait in its queue.
func (s assignSite) testFull() {
	s.waitRamped("puppet1")
	s.setMaxconn("puppet1", 2)
	for range 2 {
		if conn := s.mustConnect(1); conn.master != "puppet1" {
			s.t.Errorf("a node of puppet1 goes to %s", conn.master)
		}
	}
	var waiting sync.WaitGroup
	defer waiting.Wait()
	waiting.Go(func() {
		if conn, err := s.connect(1); err == nil {
			conn.Close()
		}
	})
	waitFor(s.t, func() error {
		if n := s.stats()["puppet1"].Queued; n != 1 {
			return fmt.Errorf("%d connections wait for puppet1, want 1", n)
		}
		return nil
	})
	if got := s.mastersOf(1, 3); got["puppet2"] != 3 {
		s.t.Errorf("while puppet1 is full, its nodes go to %v, want puppet2", got)
	}
	s.setMaxconn("puppet1", 100)
	s.waitGoesTo(1, "puppet1")
}

// waitRamped waits until slowstart no longer limits a server.
func (s assignSite) waitRamped(server string) {
	s.t.Helper()
	waitFor(s.t, func() error {
		if stat := s.stats()[server]; stat.Ramps {
			return fmt.Errorf("slowstart limits %+v", stat)
		}
		return nil
	})
}

func (s assignSite) setMaxconn(server string, maxconn int) {
	s.t.Helper()
	_, err := s.admin(fmt.Sprintf("set maxconn server puppet/%s %d", server, maxconn))
	lab.Must(s.t, err)
}

func (s assignSite) testReload() {
	before := s.inUse()
	s.reload()
	s.assertSame(before)
	s.waitGoesTo(1, "puppet1")
}

// testReloadAmid reloads HAProxy when the new version is prepared and has no entries yet, and then when it is complete.
func (s assignSite) testReloadAmid() {
	before := s.inUse()
	for _, amid := range []struct{ program, want string }{
		{"split", "HAProxy has 0 of 10000 nodes: the last map stays"},
		{"grep", "HAProxy says: Version number out of range.: the last map stays"},
	} {
		// A reload is over for systemd before the new process answers.
		const wrapper = `#!/bin/sh
pid() { echo show info | socat - UNIX-CONNECT:/run/haproxy/admin.sock | /usr/bin/grep ^Pid; }
/usr/bin/%[1]s "$@"
status=$?
rm /usr/local/bin/%[1]s
before=$(pid)
systemctl reload haproxy
until after=$(pid) && [ "$after" != "$before" ]; do sleep 0.1; done
exit $status
`
		s.lb.WriteFile("/usr/local/bin/"+amid.program, fmt.Sprintf(wrapper, amid.program), 0o755)
		s.assertRefused(amid.want)
		s.waitChecked()
		s.assertSame(before)
	}
	s.assign()
	s.assertSame(before)
}

// testNoVersion: commands for a version without a number would be about the map in use.
func (s assignSite) testNoVersion() {
	before := s.inUse()
	s.lb.WriteFile("/usr/local/bin/sed", "#!/bin/sh\nrm /usr/local/bin/sed\ncat >/dev/null\n", 0o755)
	s.assertRefused("HAProxy does not prepare a map: the last map stays")
	s.assertSame(before)
}

func (s assignSite) testForeign() {
	r := s.startRelay()
	r.answer(append(s.rows(),
		row{"facts.networking.ip": "0.0.0.0/0", "facts.puppet_master": "puppet1"},
		row{"facts.networking.ip": "192.0.2.77 puppet1\n192.0.2.78", "facts.puppet_master": "puppet1"},
		row{"facts.networking.ip": "192.0.2.77\n", "facts.puppet_master": "puppet1"},
		row{"facts.networking.ip": "192.0.2.077", "facts.puppet_master": "puppet1"},
		row{"facts.networking.ip": "192.0.2.٧", "facts.puppet_master": "puppet1"},
		row{"facts.networking.ip": 7, "facts.puppet_master": "puppet1"},
		row{"facts.networking.ip": "192.0.2.77", "facts.puppet_master": "puppet1\n"},
		row{"facts.networking.ip": "192.0.2.77", "facts.puppet_master": "puppet1\n\nshutdown frontend agents"},
		row{"facts.networking.ip": "192.0.2.77", "facts.puppet_master": []string{"puppet1"}},
		row{"facts.networking.ip": "192.0.2.77", "facts.puppet_master": nil},
		row{"facts.networking.ip": nil, "facts.puppet_master": "puppet1"},
		row{"facts.networking.ip": nodeAddress(4), "facts.puppet_master": "puppet2"}, // as node 4 says
		row{"facts.networking.ip": nodeAddress(5), "facts.puppet_master": "puppet2"}, // as node 5 does not
		row{"facts.networking.ip": nodeAddress(assignedNodes), "facts.puppet_master": "puppet9"},
	))
	want := s.inUse()
	delete(want, nodeAddress(5))
	want[nodeAddress(assignedNodes)] = "puppet9"
	s.assign()
	s.assertSame(want)
	if got := s.mastersOf(5, 6); len(got) != 2 {
		s.t.Errorf("a node whose address two claim goes to %v, want both masters", got)
	}

	r.answer([]row{{"facts.networking.ip": nodeAddress(1), "facts.puppet_master": "puppet9"}})
	s.lb.MustRun("install", "-m", "0644", "/dev/null", assignMap) // as haproxy.cfg says
	s.assign()
	if got := s.mastersOf(1, 6); len(got) != 2 {
		s.t.Errorf("a node of a master that HAProxy does not have goes to %v, want both masters", got)
	}
}

// testThousand has a thousand nodes connect in turn, forty at a time, while the map is replaced without a pause and
// puppet1 is drained and comes back.
func (s assignSite) testThousand() {
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	s.t.Cleanup(func() { stop(); work.Wait() })
	var next, done, failed, astray, replaced atomic.Int64
	var home atomic.Bool // each node must go to its own master
	for range 40 {
		work.Go(func() {
			for ctx.Err() == nil {
				node := int(next.Add(1)) % connecting
				must := home.Load()
				master, err := s.runAgent(node)
				done.Add(1)
				if err != nil {
					failed.Add(1)
					s.t.Logf("node %d: %v", node, err)
				} else if must && home.Load() && master != assigned(node) {
					astray.Add(1)
				}
			}
		})
	}
	work.Go(func() {
		for ctx.Err() == nil {
			s.assign()
			replaced.Add(1)
		}
	})
	replacements := func(n int64) {
		from := replaced.Load()
		lab.WaitFor(s.t, 2*time.Minute, 50*time.Millisecond, func() error {
			if got := replaced.Load() - from; got < n {
				return fmt.Errorf("%d replacements, want %d", got, n)
			}
			return nil
		})
	}

	home.Store(true)
	replacements(3)
	home.Store(false)
	s.masters["puppet1"].Type("drain", "drain")
	s.waitStatus("puppet1", "NOLB")
	before := s.sessions("puppet1")
	replacements(3)
	if n := s.sessions("puppet1") - before; n > 0 {
		s.t.Errorf("%d connections reached a master that is NOLB", n)
	}
	s.masters["puppet1"].Type("ready", lab.ServingBody)
	s.waitStatus("puppet1", "UP")
	s.waitRamped("puppet1")
	home.Store(true)
	replacements(3)
	stop()
	work.Wait()
	s.t.Logf("measured: %d nodes, %d runs, %d failed; the map was replaced %d times", connecting, done.Load(),
		failed.Load(), replaced.Load())
	if failed.Load() > 0 || done.Load() < connecting {
		s.t.Errorf("%d of %d runs failed, want 0 of %d at least", failed.Load(), done.Load(), connecting)
	}
	if astray.Load() > 0 {
		s.t.Errorf("%d connections went to another master, though their own was in service", astray.Load())
	}
}

func (s assignSite) testDown() {
	s.db.MustRun("systemctl", "kill", "--signal=KILL", "puppetdb")
	s.db.MustRun("systemctl", "stop", "puppetdb")
	before := s.inUse()
	s.assertRefused("Failed to connect")
	s.assertSame(before)
	s.waitGoesTo(1, "puppet1")
	s.reload() // HAProxy reads the last map from the file
	s.assertSame(before)
	s.waitGoesTo(1, "puppet1")
}
