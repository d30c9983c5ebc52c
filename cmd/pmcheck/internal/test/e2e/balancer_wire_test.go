//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// wireConfig makes HAProxy depend on agent-checks: in the backend puppet, its own check
// always succeeds. In the backend light, the server has HAProxy's default weight.
const wireConfig = tcpDefaults + `
backend puppet
    default-server check inter 100ms agent-check agent-port AGENT-PORT agent-inter 50ms
    server m1 ECHO weight 100
backend light
    option httpchk GET /?drain=200&maint=200
    http-check send-state
    server m1 ECHO check port LISTEN-PORT inter 100ms agent-check agent-port AGENT-PORT agent-inter 50ms
`

// An agentLine is pmcheck's answer to an agent-check in one mode and one state of the
// master, and how HAProxy acts on it.
type agentLine struct {
	mode   drain.Mode
	master checktest.State
	line   string
	status string // in show stat
	text   string // there too
}

func (s agentLine) String() string { return s.line }

func agentLines() []agentLine {
	return []agentLine{
		{drain.Ready, checktest.Running, "ready up 100% # ok", "UP", "via agent : up (ok)"},
		{drain.Ready, checktest.Stopped, "ready down 100% # refused", "DOWN (agent)", "via agent : down (refused)"},
		{drain.Drain, checktest.Running, "drain up # ok", "DRAIN (agent)", "via agent : up (ok)"},
		{drain.Drain, checktest.Stopped, "drain down # refused", "DOWN (agent)", "via agent : down (refused)"},
		{drain.Maint, checktest.Running, "maint up # ok", "MAINT", "via agent : up (ok)"},
		{drain.Maint, checktest.Stopped, "maint down # refused", "MAINT", "via agent : down (refused)"},
	}
}

// everyPair returns a walk over n places that goes from each place to every other.
func everyPair(n int) (walk []int) {
	for i := range n {
		for j := i + 1; j < n; j++ {
			walk = append(walk, i, j)
		}
	}
	return append(walk, 0)
}

// A wire is a pmcheck and an HAProxy that depends on its agent-checks.
type wire struct {
	*lab.Site
	t *testing.T
}

// startWire starts both. A weight begins anew after each timeout of a probe, so with one
// a probe may take as long as a busy machine needs.
func startWire(t *testing.T, weight bool) *wire {
	probe := "interval: 150ms, timeout: 140ms"
	if weight {
		probe = "interval: 1s, timeout: 900ms"
	}
	yaml := fmt.Sprintf("probe: {%s}\nagent: {listen: 'AGENT', weight: %v}\n", probe, weight)
	w := &wire{Site: lab.StartSite(t, lab.SiteOptions{YAML: yaml}), t: t}
	w.Balance(strings.ReplaceAll(wireConfig, "ECHO", startEcho(t)))
	w.waitFor(agentLines()[0])
	return w
}

// set sets the mode and the state of the master for a line.
func (w *wire) set(s agentLine) {
	w.t.Helper()
	w.SetMaster(s.master)
	w.Hold(s.mode)
}

// waitFor waits until pmcheck has sent the line and HAProxy has acted on it. On a busy
// machine, probes with a timeout of 140 ms fail, and the weight then rises slowly.
func (w *wire) waitFor(s agentLine) {
	w.t.Helper()
	w.WaitBalancer(func(b lab.Balancer) bool {
		return b.Name == lab.AgentCheckName && b.Answer.Body == s.line && b.Answers > 1
	}, time.Minute)
	w.HAProxy.WaitStat("puppet", "m1", func(stat lab.ServerStat) bool {
		return stat.Status == s.status && stat.LastAgent == s.text
	}, time.Minute)
}

// TestHAProxyActsOnEachAgentLine: HAProxy acts on each line as documented, whatever the
// line before was.
func TestHAProxyActsOnEachAgentLine(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	w := startWire(t, false)
	list, before := agentLines(), 0
	transitions := map[[2]int]bool{}
	for _, next := range everyPair(len(list)) {
		w.set(list[next])
		w.waitFor(list[next])
		if next != before {
			transitions[[2]int{before, next}] = true
		}
		before = next
	}
	measured(t, "agent lines, transitions from each to each other", len(transitions))
	if want := len(list) * (len(list) - 1); len(transitions) != want {
		t.Errorf("%d transitions, want %d", len(transitions), want)
	}
	if weight := w.HAProxy.Stat("puppet", "m1").Weight; weight != 100 {
		t.Errorf("weight %d in the end, want 100", weight)
	}
}

// TestAgentLineOutlivesAKill: the last line stays in effect while pmcheck is gone, and is
// sent again when it is back.
func TestAgentLineOutlivesAKill(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	w := startWire(t, false)
	for _, s := range agentLines() {
		w.set(s)
		w.waitFor(s)
		w.Kill()
		stat, _ := w.HAProxy.WaitStat("puppet", "m1", func(stat lab.ServerStat) bool {
			return stat.AgentStatus == "L4CON"
		}, 10*time.Second)
		measured(t, fmt.Sprintf("killed after %q", s), stat.Status)
		if stat.Status != s.status {
			t.Errorf("killed after %q: HAProxy says %q, want %q still", s, stat.Status, s.status)
		}
		w.Start()
		w.WaitLive(10 * time.Second)
		w.waitFor(s)
		w.set(agentLines()[0])
		w.waitFor(agentLines()[0])
	}
}

// TestAgentWeightFollowsThePool: a busy pool lowers the weight within seconds, and an
// idle one raises it again.
func TestAgentWeightFollowsThePool(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	w := startWire(t, true)
	loans := make([]check.Loan, 4)
	began := time.Now()
	w.Master.SetPool(check.Pool{Size: 4, Borrowed: loans, Waiting: loans, Lock: "not-in-use"})
	stat, _ := w.HAProxy.WaitStat("puppet", "m1", func(s lab.ServerStat) bool { return s.Weight <= 60 }, 15*time.Second)
	assertWithin(t, "a full pool to a weight of 60 or less", lab.Since(began), 8*time.Second)
	if stat.Status != "UP" {
		t.Errorf("HAProxy says %q of a master that is busy, want UP", stat.Status)
	}
	// HAProxy multiplies and rounds down: of the default weight nothing is left.
	w.WaitBalancer(func(b lab.Balancer) bool { return b.Name == "light/m1" && b.View.Weight == 0 }, 10*time.Second)
	if light := w.HAProxy.Stat("light", "m1").Weight; light != 0 {
		t.Errorf("a server line without weight has %d, want 0", light)
	}
	if warnings := strings.Join(w.Status().Warnings, "; "); !strings.Contains(warnings, "gives light/m1 no weight") {
		t.Errorf("the status warns of %q, want of a server line without weight", warnings)
	}
	w.HAProxy.WaitStat("puppet", "m1", func(s lab.ServerStat) bool { return s.Weight <= 40 }, 15*time.Second)
	began = time.Now()
	w.Master.SetPool(check.Pool{Size: 4, Free: 4, Lock: "not-in-use"})
	w.HAProxy.WaitStat("puppet", "m1", func(s lab.ServerStat) bool { return s.Weight >= 80 }, 15*time.Second)
	assertWithin(t, "an idle pool to a weight of 80 or more", lab.Since(began), 8*time.Second)

	w.SetMaster(checktest.Stopped)
	w.HAProxy.WaitStatus("puppet", "m1", "DOWN (agent)", 10*time.Second)
	w.SetMaster(checktest.Running)
	stat, _ = w.HAProxy.WaitStatus("puppet", "m1", "UP", 10*time.Second)
	measured(t, "weight of a master that comes up", stat.Weight)
	if stat.Weight < 1 || stat.Weight > 20 {
		t.Errorf("a master that comes up has the weight %d, want about 10", stat.Weight)
	}
}

// TestAgentSendChangesNothing: what HAProxy sends in an agent-check changes nothing, and
// the check is answered.
func TestAgentSendChangesNothing(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	r := lab.StartSite(t, lab.SiteOptions{YAML: agentYAML})
	h := r.Balance(tcpDefaults + fmt.Sprintf("backend puppet\n server m1 %s check agent-check agent-port AGENT-PORT"+
		" agent-inter 50ms agent-send %q weight 100\n", startEcho(t), "drain\\n"))
	seen := func(b lab.Balancer) bool { return b.Name == lab.AgentCheckName && b.Answers >= 20 }
	if b := r.WaitBalancer(seen, 10*time.Second); b.Answer.Body != "ready up 100% # ok" {
		t.Errorf("the agent says %q", b.Answer.Body)
	}
	// HAProxy shows none while it asks.
	stat, _ := h.WaitStat("puppet", "m1", func(s lab.ServerStat) bool { return s.LastAgent != "" }, 10*time.Second)
	if stat.Status != "UP" || stat.LastAgent != "via agent : up (ok)" {
		t.Errorf("HAProxy says %+v", stat)
	}
}
