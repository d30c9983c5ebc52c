package check_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
)

// Each reason that is declared belongs to a check, or to all of them.
func TestReasonsAreComplete(t *testing.T) {
	want, got := map[check.Reason]int{check.OK: 1}, map[check.Reason]int{check.OK: 1, check.NotKnown: 1}
	declared := regexp.MustCompile(`(?m)^(?:const)?\s*\w+ +Reason += +"([a-z-]+)"`)
	for _, file := range append(must(filepath.Glob("*.go")), "puppetclient/error.go") {
		for _, m := range declared.FindAllSubmatch(must(os.ReadFile(file)), -1) {
			want[check.Reason(m[1])] = 1
		}
	}
	for _, c := range check.All() {
		for _, cause := range c.Reasons {
			got[cause.Reason]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-declared +listed):\n%s", diff)
	}
}

// A drain without --wait returns at once, and a restart after it cuts off agents that are
// still served. A check that takes the master out may say restart: the master cannot
// serve the agents it still has.
func TestHintsDoNotCutOffAgents(t *testing.T) {
	safe := strings.NewReplacer("pmcheck drain --wait", "", "with-hold -- systemctl restart UNIT", "")
	restart := regexp.MustCompile(`estart ([Pp]uppet ?[Ss]erver|UNIT)\b`)
	for _, c := range check.All() {
		for _, cause := range c.Reasons {
			rest := safe.Replace(cause.Hint)
			restarts := restart.MatchString(rest)
			switch {
			case strings.Contains(rest, "pmcheck drain"), restarts && c.Severity == check.Warn:
				t.Errorf("%s: %q", cause.Reason, cause.Hint)
			case cause.Hint == "" && c.Name != check.CheckProbe: // whose reasons often say all
				t.Errorf("%s has no hint", cause.Reason)
			case strings.Contains(string(cause.Reason), "running"):
				t.Errorf("%s contains the word running, by which balancers know a good answer", cause.Reason)
			}
		}
	}
}

// A check without something to look at does not run, and a check that is not in a list is off.
func TestAListRunsWhatHasSomethingToLookAt(t *testing.T) {
	all := check.All()
	if got := slices.Sorted(maps.Keys(all.Scheduled(check.Host{}))); !slices.Equal(got, []string{check.CheckDisk}) {
		t.Errorf("%q run by default, want the disk only", got)
	}
	code, puppetDB := all.Code(), all.PuppetDB()
	code.Dir = "/environments"
	puppetDB.Address = "localhost:8081"
	configured := all.With(code).With(puppetDB)
	want := []string{check.CheckCode, check.CheckDisk, check.CheckPuppetDB}
	if got := slices.Sorted(maps.Keys(configured.Scheduled(check.Host{}))); !slices.Equal(got, want) {
		t.Errorf("%q run, want %q", got, want)
	}

	var none check.List
	if none.Disk().Paths != nil || none.Severity(check.CheckDisk) != check.Off {
		t.Errorf("settings %v, severity %s without the check", none.Disk(), none.Severity(check.CheckDisk))
	}
	if configured.WithSeverity(check.CheckDisk, check.Off); configured.Severity(check.CheckDisk) != check.Eject {
		t.Error("another list has changed the severity of this one")
	}
	if all.Code().Dir != "" {
		t.Error("another list has changed the settings of this one")
	}
}
