package check_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
)

func TestEachCheckIsExplained(t *testing.T) {
	want := map[string]check.Severity{
		check.CheckProbe: check.Eject, check.CheckJRuby: check.Eject, check.CheckUnit: check.Eject,
		check.CheckExpiry: check.Warn, check.CheckLoaded: check.Warn, check.CheckDisk: check.Eject,
		check.CheckCode: check.Warn, check.CheckPuppetDB: check.Warn, check.CheckCompile: check.Off,
	}
	got := map[string]check.Severity{}
	for _, name := range check.Names() {
		got[name] = check.DefaultSeverity(name)
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

func TestWhatIsNoCheckIsNotExplained(t *testing.T) {
	for _, name := range []string{"", "jrubies", "Probe"} {
		if _, ok := check.Explain(name); ok || check.DefaultSeverity(name) != check.Off {
			t.Errorf("%q is explained", name)
		}
	}
}

// Whoever adds a reason says which check gives it.
func TestReasonsAreComplete(t *testing.T) {
	source, err := os.ReadFile("fault.go")
	if err != nil {
		t.Fatal(err)
	}
	want := []check.Reason{}
	for _, m := range regexp.MustCompile(`(?m)^\t\w+ +Reason = "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
		if r := check.Reason(m[1]); r != check.OK {
			want = append(want, r)
		}
	}
	got := check.Reasons()
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-fault.go +Reasons):\n%s", diff)
	}
	for _, r := range got {
		if (r.Check() == "") != (r == check.NotKnown) {
			t.Errorf("%s is of the check %q", r, r.Check())
		}
	}
}

func TestEachReasonOfACheckHasAHint(t *testing.T) {
	for _, r := range []check.Reason{
		check.ServiceNotFound, check.JRubyUnread, check.JRubyWarming, check.JRubyBusy, check.JRubyStuck, check.JRubyLocked,
		check.UnitReloading, check.UnitStarting, check.UnitStopping, check.UnitFailed,
		check.ExpiresSoon, check.Expired, check.CertificateOnDisk, check.DiskLow, check.DiskFull,
		check.PuppetDBDown, check.PuppetDBMaintained, check.DeployFailed, check.DeployUnderWay,
		check.CompileFailed, check.CompileSlow,
	} {
		if r.Hint() == "" || strings.Contains(string(r), "running") {
			t.Errorf("%s: hint %q", r, r.Hint())
		}
	}
	if hint := check.OK.Hint(); hint != "" {
		t.Errorf("a hint although all is well: %q", hint)
	}
}
