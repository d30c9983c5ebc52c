package check_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
)

func TestEachCheckIsExplained(t *testing.T) {
	want := map[string]check.Severity{
		check.CheckProbe: check.Eject, check.CheckJRuby: check.Eject, check.CheckUnit: check.Eject,
		check.CheckExpiry: check.Warn, check.CheckDisk: check.Eject,
		check.CheckCode: check.Warn, check.CheckPuppetDB: check.Warn,
	}
	got := map[string]check.Severity{}
	for _, name := range check.Names() {
		got[name] = check.All().Severity(name)
		e, ok := check.Explain(name)
		if !ok || e.Name != name || e.Asks == "" || e.Why == "" || e.Because == "" || e.Do == "" {
			t.Errorf("%s: %+v", name, e)
		}
		lines := strings.Split(strings.TrimSuffix(e.String(), "\n"), "\n")
		if len(lines) < 5 || len(lines) > 14 {
			t.Errorf("%s: %d lines, want 5 to 14\n%s", name, len(lines), e)
		}
		for _, line := range lines {
			if len(line) > 78 || strings.TrimSpace(line) == "" {
				t.Errorf("%s: a line of %d bytes: %q", name, len(line), line)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUnknownNameIsNotExplained(t *testing.T) {
	for _, name := range []string{"", "jrubies", "Probe"} {
		if _, ok := check.Explain(name); ok || check.All().Severity(name) != check.Off {
			t.Errorf("%q is explained", name)
		}
	}
}

// Each reason that is declared belongs to a check, or to all of them.
func TestReasonsAreComplete(t *testing.T) {
	want := map[check.Reason]bool{check.OK: true}
	declared := regexp.MustCompile(`(?m)^(?:const)?\s*\w+ +Reason += +"([a-z-]+)"`)
	for _, pattern := range []string{"*.go", "puppetclient/error.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range declared.FindAllSubmatch(source, -1) {
				want[check.Reason(m[1])] = true
			}
		}
	}
	got := map[check.Reason]bool{check.OK: true}
	for _, r := range check.Reasons() {
		if got[r] {
			t.Errorf("%s is listed twice", r)
		}
		got[r] = true
		if (r.Check() == "") != (r == check.NotKnown) {
			t.Errorf("%s belongs to the check %q", r, r.Check())
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
	safe := strings.NewReplacer("pmcheck drain --wait", "", "with-hold -- systemctl restart puppetserver", "")
	for _, c := range check.All() {
		texts := []string{c.Do}
		for _, cause := range c.Reasons {
			texts = append(texts, cause.Hint)
		}
		for _, text := range texts {
			if rest := safe.Replace(text); strings.Contains(rest, "pmcheck drain") ||
				c.Severity == check.Warn && strings.Contains(rest, "estart puppetserver") {
				t.Errorf("%s: %q", c.Name, text)
			}
		}
	}
}

func TestEachReasonOfACheckHasAHint(t *testing.T) {
	for _, r := range check.Reasons() {
		// A hint for the probe would often only repeat the reason: http-error, state-starting.
		wanted := r.Check() != "" && r.Check() != check.CheckProbe || r == check.ServiceNotFound
		if wanted && r.Hint() == "" {
			t.Errorf("%s has no hint", r)
		}
		if strings.Contains(string(r), "running") {
			t.Errorf("%s contains the word running, by which balancers know a good answer", r)
		}
	}
	if hint := check.OK.Hint(); hint != "" {
		t.Errorf("OK has a hint: %q", hint)
	}
}
