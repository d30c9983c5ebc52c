package leave_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rulesOfLeaving are the rules of the way out, each with what takes it away from the source.
var rulesOfLeaving = []struct{ name, file, old, without string }{
	{"a stop that is cancelled ends", "next.go", "if d.facts.NoStop != nil {", "if d.facts.NoStop != nil && false {"},
	{"a hold that was lifted ends the way out", "next.go", "hasEnded || d.facts.Gone", "hasEnded"},
	{"a clock that jumps ends no hold of a stop", "next.go", "if hasEnded && isToLast {", "if isToLast && false {"},
	{"a command leaves no balancer without its only server", "next.go", "len(needs) > 0", "len(needs) > 100"},
	{"a command is refused by a silent daemon", "next.go", "if f.isSilent() && d.policy.NotKnown == Refuse {",
		"if f.isSilent() && d.policy.NotKnown == Refuse && false {"},
	{"a young daemon may not know its balancers", "next.go", "blockers = f.Status.Unseen(d.policy.MustListen)",
		"blockers = nil"},
	{"nothing may be in the way for a second", "next.go", "d.facts.Now.Sub(s.clear) >= settled", "settled >= 0"},
	{"an only server of listed balancers waits for no slot", "slot.go", "namesAll && d.isOnlyServer()",
		"namesAll && false"},
	{"a last server serves on while the host shuts down", "next.go", "if d.servesToTheEnd() {",
		"if d.servesToTheEnd() && false {"},
	{"without a daemon no balancer hears", "next.go", "d.policy.Now || d.facts.isAbsent()\n\tif isUnheard",
		"d.policy.Now\n\tif isUnheard"},
	{"after its turn a stop leaves beside another server", "next.go", "Level: drain.LeavingBesideSpare",
		"Level: drain.LeavingInTurn"},
	{"each balancer has heard of the firm hold", "next.go", "d.judge(d.lingering(), 0)", "d.judge(nil, 0)"},

	{"a hold beside the master needs no slot", "next.go", "d.facts.HasBudget && budget.Counts(d.policy.Service)",
		"d.facts.HasBudget && (true || budget.Counts(d.policy.Service))"},
	{"a stop waits for a database that restarts", "slot.go", "silentFor >= d.policy.AskDatabase", "silentFor >= 0"},
	{"a stop without a slot is counted as out", "slot.go", "return Step{Do: Claim, Force: true}",
		"return d.hold(drain.LeavingWithSlot)"},
	{"with a slot the turn begins anew", "slot.go", "s.times = s.times.renewed(turn, now, LongestTurn)", ""},
	{"a slot may come until others have given theirs back", "limits.go", "t.turnEnd.Add(limits.Wait + longestRestart)",
		"t.turnEnd.Add(0 * longestRestart)"},

	{"masters pause for different times", "fleet.go", "s.ask = d.facts.Now.Add(again)", "s.ask = d.facts.Now"},
	{"the fleet is asked again", "fleet.go", "if !s.paused {", "if !s.paused && false {"},
	{"the fleet is asked once more, held", "fleet.go", "isHeld || !d.isFollowedBlindly()", "true"},
	{"and once the hold is in effect", "fleet.go", "if isHeld && !d.inEffect() {", "if false {"},
	{"of two that hold at once, one lifts its hold", "fleet.go", "step.Do = Lift", "step.Do = Wait"},
	{"what is not known counts until its end", "next.go", "	blockers = blocker.Counting(blockers, d.facts.Now)\n", ""},
	{"a silent fleet counts until its end", "fleet.go", "since.Add(muteTime)", "since.Add(100*muteTime)"},
	{"views decide where the fleet is silent", "fleet.go", "isMute && isPooled && !d.isFollowedBlindly()",
		"isMute && isPooled && false"},
	{"a balancer knows more than the fleet", "fleet.go", "isPooled && d.policy.NotKnown == GoOn", "isPooled && false"},
	{"listed views replace the fleet", "fleet.go", "!s.Balancers.Decide(drain.Master, mode, s.Time)", "true"},

	{"a master that does not serve leaves at once", "needs.go", "(isHeldFirmly(v) || v.Unfit())", "isHeldFirmly(v)"},
	{"but not from a balancer that asks for the hold alone", "needs.go", "v.Unfit() && hearsVerdict",
		"v.Unfit() && (hearsVerdict || !hearsVerdict)"},
	{"nor before a probe has shown it", "../status/status.go", "s.Verdict.Reason != check.NotProbed",
		"s.Verdict.Reason != \"x\""},
	{"a stop does not wait for a balancer with this only server", "needs.go",
		"return all.Without(d.hearing().OnlyServer(now))", "return all"},
	{"a command does not wait for bad turns", "needs.go", "all.Without(d.hearing().Turns().OnlyServer(now))", "all"},
	{"a gate sends agents elsewhere", "needs.go", "if seen.Gate.Runs(seen.Time) {", "if false {"},
	{"a client may prove to be a balancer", "needs.go", "if isUnknown {", "if isUnknown && false {"},
	{"servers are expected back until the turn is over", "needs.go", "AllStranded() && turnIsOver",
		"AllStranded() && (turnIsOver || !turnIsOver)"},
	{"without a balancer agents cannot go elsewhere", "needs.go", " && !d.facts.Status.Unheard(d.state.times.out)", ""},
	{"the daemon's own connections are no agents", "facts.go", "c.Peer.Addr() != c.Local", "c.Peer.IsValid()"},

	{"unlisted views renew the turn for two hours only", "limits.go", "longest := untrustedTurn",
		"longest := LongestTurn"},
	{"a server that flaps counts once", "limits.go", "r.back >= atMost", "r.back >= 1000*atMost"},
	{"half of a shutdown is for the turn", "limits.go",
		"return earlier(t.turnEnd, t.hostStops.Add(limits.Shutdown/2))", "return t.turnEnd"},
	{"a firm hold stays firm", "hold.go", `old.Mode != "" && old.Leaving == drain.Firm`, `old.Mode == "no"`},

	{"a balancer keeps its last server", "../balancer/rule.go", "if b.Spare() == 0 {", "if b.Spare() < 0 {"},
	{"a view that cannot be read keeps the master", "../balancer/rule.go", "if b.Unreadable {", "if false {"},
	{"it could do without at the check before, too", "../balancer/rule.go", "if !b.fitted {", "if false {"},
	{"no other balancer shows that it cannot", "../balancer/rule.go", "if !r.canDoWithout(o) {", "if false {"},
	{"a crossing heals", "../balancer/rule.go", "b.justOut || !b.Refused()", "!b.Refused()"},
	{"the verdict once more", "../balancer/rule.go", "b.View.Sends() && !b.letOff", "false"},
	{"more ask than are remembered", "../balancer/rule.go", "if r.unseen {", "if false {"},
}

// TestEachRuleMatters takes away one rule after the other, and says which quick tests notice. Without PMCHECK_LONG it
// looks only whether each rule is where the list says.
func TestEachRuleMatters(t *testing.T) {
	for _, rule := range rulesOfLeaving {
		t.Run(rule.name, func(t *testing.T) {
			file, err := filepath.Abs(rule.file)
			if err != nil {
				t.Fatal(err)
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), rule.old); n != 1 {
				t.Fatalf("%s has %q %d times", rule.file, rule.old, n)
			}
			if os.Getenv("PMCHECK_LONG") == "" {
				return
			}

			patched := strings.Replace(string(source), rule.old, rule.without, 1)
			noticed := failuresWith(t, file, patched)
			t.Logf("noticed by %s", strings.Join(noticed, ", "))
			if len(noticed) == 0 {
				t.Error("no quick test notices that it is gone")
			}
		})
	}
}

var failed = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// failuresWith returns the quick tests that fail with another text of one file.
func failuresWith(t *testing.T, file, text string) (names []string) {
	t.Helper()
	dir := t.TempDir()
	other := filepath.Join(dir, "other.go")
	overlay := filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: other}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{other: text, overlay: string(list)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	const slow = "^Test(EachRule.*|EverySchedule|SimulatedPools|Thirty.*|AStranger.*|AKill.*|ADaemonThatIsKilled.*|" +
		"HostsThatReboot.*|TwoHAProxies.*)$"
	cmd := exec.Command("go", "test", "-short", "-count=1", "-p=1", "-vet=off", "-overlay="+overlay, "-skip="+slow,
		".", "../balancer")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PMCHECK_LONG=") })
	said, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	for _, match := range failed.FindAllSubmatch(said, -1) {
		names = append(names, string(match[1]))
	}
	if names == nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return names
}
