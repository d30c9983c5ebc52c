//go:build linux

package peers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// assignedNodes is how many nodes PuppetDB knows. Odd nodes belong to puppet1 and even
// ones to puppet2. The first of them connect.
const (
	assignedNodes = 10_000
	connecting    = 8
)

func nodeName(i int) string { return fmt.Sprintf("node%d.example.com", i) }

func nodeAddress(i int) string { return fmt.Sprintf("198.19.%d.%d", i/250, i%250+1) }

func nodeMaster(i int) string { return fmt.Sprintf("puppet%d", 2-i%2) }

// TestNodesFollowTheirMasterInPuppetDB runs examples/haproxy/assign with two HAProxy, their
// timers, and a PuppetDB. On a quiet machine it takes 75 s, a third of which PuppetDB needs
// to start.
func TestNodesFollowTheirMasterInPuppetDB(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	s := startAssignSite(t)
	for i := range connecting {
		must(t, s.net.Command("ip", "address", "add", nodeAddress(i)+"/32", "dev", "lab0"))
	}
	if err := s.isBalanced(1); err != nil {
		t.Errorf("before the first map, node 1 is not balanced: %v", err)
	}
	s.waitForPuppetDB()
	s.loadNodes()
	for _, h := range s.balancers {
		h.MustRun("systemctl", "start", "haproxy-assign.timer")
	}
	took := lab.WaitFor(t, time.Minute, 200*time.Millisecond, func() error {
		for _, h := range s.balancers {
			if got := len(s.show(h)); got != assignedNodes {
				return fmt.Errorf("%s has a map of %d nodes", h.Name, got)
			}
		}
		return nil
	})
	t.Logf("both maps have %d nodes %v after the timers were started", assignedNodes, took)
	for i := range connecting {
		if err := s.goesTo(i, nodeMaster(i)); err != nil {
			t.Error(err)
		}
	}
	for _, test := range []struct {
		name string
		run  func(*assignSite)
	}{
		{"a moved node", (*assignSite).testMove},
		{"a master that is out", (*assignSite).testFallback},
		{"a reload of HAProxy", (*assignSite).testReload},
		{"answers that are refused", (*assignSite).testRefused},
		{"foreign text", (*assignSite).testForeign},
		{"PuppetDB without its database", (*assignSite).testDatabaseDown},
		{"PuppetDB down", (*assignSite).testPuppetDBDown},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := *s
			in.t = t
			test.run(&in)
		})
	}
}

// nodesSQL writes what PuppetDB 7.12 stores of each node after replace_facts. Both hashes
// must be as long as SHA-1.
const nodesSQL = `
begin;
insert into environments (environment) values ('production') on conflict do nothing;
create temp table nodes on commit drop as
  select format('node%%s.example.com', i) as certname,
    decode(md5(i::text) || left(md5('more' || i), 8), 'hex') as hash,
    jsonb_build_object('networking', jsonb_build_object('ip', format('198.19.%%s.%%s', i / 250, i %% 250 + 1)),
      'puppet_master', format('puppet%%s', 2 - i %% 2)) as facts
  from generate_series(0, %d) i;
insert into certnames (certname) select certname from nodes;
insert into factsets (certname, timestamp, producer_timestamp, environment_id, hash, stable_hash, stable, volatile)
  select certname, now(), now(), (select id from environments), hash, hash, facts, '{}' from nodes;
commit;
`

// loadNodes writes the nodes straight to the database, since 10,000 commands would take
// PuppetDB minutes.
func (s *assignSite) loadNodes() {
	s.t.Helper()
	began := time.Now()
	s.db.SQL(fmt.Sprintf(nodesSQL, assignedNodes-1))
	s.t.Logf("%d nodes loaded by SQL in %v", assignedNodes, time.Since(began).Round(time.Millisecond))
}

// isBalanced returns an error unless both masters get connections of the node.
func (s *assignSite) isBalanced(node int) error {
	for _, h := range s.balancers {
		got := map[string]bool{}
		for range 4 {
			conn, err := s.connect(node, h)
			if err != nil {
				return fmt.Errorf("%s: %w", h.Name, err)
			}
			defer conn.Close()
			got[conn.master] = true
		}
		if len(got) != 2 {
			return fmt.Errorf("%s sends it to %v", h.Name, got)
		}
	}
	return nil
}

// move sends PuppetDB new facts of a node, as its agent would, and waits until PuppetDB has
// stored them.
func (s *assignSite) move(node int, master string) {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{
		"certname":           nodeName(node),
		"environment":        "production",
		"producer":           "puppet1",
		"producer_timestamp": time.Now().UTC().Format(time.RFC3339Nano),
		"values":             map[string]any{"networking": map[string]any{"ip": nodeAddress(node)}, "puppet_master": master},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := s.client.Post(s.puppetdb("/pdb/cmd/v1?"+url.Values{
		"command":                    {"replace_facts"},
		"version":                    {"5"},
		"certname":                   {nodeName(node)},
		"secondsToWaitForCompletion": {"20"},
	}.Encode()), "application/json", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("replace_facts: %s", resp.Status)
	}
}

func (s *assignSite) testMove() {
	const node = 3
	old := s.openConns(node)
	s.move(node, "puppet2")
	took := lab.WaitFor(s.t, time.Minute, 50*time.Millisecond, func() error { return s.goesTo(node, "puppet2") })
	s.t.Logf("a moved node goes to its new master through both balancers after %v; the interval is %v", took,
		assignInterval)
	const run = 10 * time.Second // of the unit, on a busy machine
	if limit := assignInterval + run; took > limit {
		s.t.Errorf("a moved node follows after %v, want at most %v", took, limit)
	}
	if err := s.goesTo(5, "puppet1"); err != nil {
		s.t.Errorf("another node: %v", err)
	}
	old.work(s.t, "puppet1")
	for _, h := range s.balancers {
		want := "10000 nodes, 1 changed"
		if log := h.Journal("haproxy-assign"); strings.Count(log, want) != 1 {
			s.t.Errorf("%s: the journal does not say once %q:\n%s", h.Name, want, log)
		}
	}
}

// openConns are connections of one node, one through each balancer.
type openConns []nodeConn

func (s *assignSite) openConns(node int) (conns openConns) {
	s.t.Helper()
	for _, h := range s.balancers {
		conn, err := s.connect(node, h)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { conn.Close() })
		conns = append(conns, conn)
	}
	conns.work(s.t, nodeMaster(node))
	return conns
}

func (c openConns) work(t *testing.T, master string) {
	t.Helper()
	for _, conn := range c {
		if err := conn.works(); err != nil || conn.master != master {
			t.Errorf("an open connection to %s, want %s: %v", conn.master, master, err)
		}
	}
}

func (s *assignSite) testFallback() {
	const node = 1
	one := s.masters["puppet1"]
	wait := func(master string) {
		s.t.Helper()
		took := lab.WaitFor(s.t, time.Minute, 50*time.Millisecond, func() error { return s.goesTo(node, master) })
		s.t.Logf("node %d goes to %s after %v", node, master, took.Round(time.Millisecond))
	}
	old := s.openConns(node)
	one.Type("drain", "drain")
	wait("puppet2")
	old.work(s.t, "puppet1")
	one.Type("ready", serving)
	wait("puppet1")
	one.Type("stopped", "unhealthy: refused") // goesTo fails the test if a connection fails
	wait("puppet2")
	one.Type("running", serving)
	wait("puppet1")
}

func (s *assignSite) testReload() {
	for _, h := range s.balancers {
		before := s.show(h)
		h.MustRun("systemctl", "reload", "haproxy")
		s.waitForServers(h)
		if after := s.show(h); !sameEntries(before, after) {
			s.t.Errorf("%s: a map of %d nodes before a reload, %d after it, or other ones", h.Name, len(before), len(after))
		}
	}
	if err := s.goesTo(3, "puppet2"); err != nil {
		s.t.Error(err)
	}
}

func sameEntries(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
