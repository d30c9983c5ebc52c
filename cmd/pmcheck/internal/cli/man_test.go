package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
)

const manDir = "../../../../packaging/man/"

// Flags before the first command are those that mean the same wherever a command has them.
func TestManualHasEachCommandAndFlag(t *testing.T) {
	got, commands := map[string][]string{}, []string{""}
	item := regexp.MustCompile(`Fl -?([A-Za-z-]+)`)
	for line := range lines(t, "pmcheck.8", "COMMANDS") {
		if names, is := strings.CutPrefix(line, ".Ss pmcheck "); is {
			commands = strings.Split(names, " , pmcheck ")
			for _, c := range commands {
				got[c] = nil
			}
		} else if strings.HasPrefix(line, ".It Fl ") {
			for _, m := range item.FindAllStringSubmatch(line, -1) {
				for _, c := range commands {
					got[c] = append(got[c], m[1])
				}
			}
		}
	}
	want := map[string][]string{}
	for _, c := range newApp(strings.NewReader(""), io.Discard, io.Discard).Commands {
		want[c.Name] = nil
		for _, f := range flagsOf(c) {
			for _, name := range f.Names() {
				of := c.Name
				if slices.Contains(got[""], name) {
					of = ""
				}
				want[of] = append(want[of], name)
			}
		}
	}
	for _, flags := range []map[string][]string{want, got} {
		for of, names := range flags {
			slices.Sort(names)
			flags[of] = slices.Compact(names)
		}
	}
	compare(t, want, got)
}

// Where a flag takes a value, its help says in capitals what it is, not "value".
func TestHelpHasAnExampleAndNamesEachValue(t *testing.T) {
	named := regexp.MustCompile("`[A-Z]+(=[A-Z]+)?`")
	for _, c := range newApp(strings.NewReader(""), io.Discard, io.Discard).Commands {
		example := regexp.MustCompile(`(?m)^Example: .*\bpmcheck ` + c.Name + `\b`)
		if found := example.FindAllString(c.Description, -1); len(found) != 1 && !c.Hidden {
			t.Errorf("pmcheck %s has %d examples: %s", c.Name, len(found), c.Description)
		}
		for _, f := range flagsOf(c) {
			name, usage := f.Names()[0], f.GetUsage()
			if f.TakesValue() && name != "wait" && !named.MatchString(usage) {
				t.Errorf("pmcheck %s --%s: %s", c.Name, name, usage)
			}
		}
	}
}

// flagsOf returns the flags of a command that its help shows, without --help.
func flagsOf(c *cli.Command) (flags []cli.DocGenerationFlag) {
	for _, f := range c.VisibleFlags() {
		if !slices.Contains(f.Names(), "help") {
			flags = append(flags, f.(cli.DocGenerationFlag))
		}
	}
	return flags
}

func TestManualHasEachSettingAndDefault(t *testing.T) {
	loaded, err := config.Load(config.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, s := range loaded.Settings() {
		want = append(want, s.Key+" = "+s.Value)
	}
	for line := range lines(t, "pmcheck.yaml.5", "SETTINGS") {
		if item, is := strings.CutPrefix(line, ".It Va "); is {
			item = strings.Replace(item, " Li = ", " = ", 1)
			got = append(got, strings.NewReplacer(`\(dq`, `"`, `\(aq`, "'").Replace(item))
		}
	}
	compare(t, want, got)
}

func TestManualHasEachExitStatus(t *testing.T) {
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^\texit[A-Z]\w+ += (\d+)`).FindAllStringSubmatch(read(t, "exit.go"), -1) {
		want = append(want, m[1])
	}
	for line := range lines(t, "pmcheck.8", "EXIT STATUS") {
		if item, is := strings.CutPrefix(line, ".It "); is {
			got = append(got, item)
		}
	}
	compare(t, want, got)
}

func TestManualHasEachReason(t *testing.T) {
	want := []string{"any check " + string(check.NotKnown)}
	for _, c := range check.All() {
		for _, cause := range c.Reasons {
			want = append(want, c.Name+" "+string(cause.Reason))
		}
	}
	want = append(want, "holds "+drain.Unreadable)
	var got []string
	of := ""
	for line := range lines(t, "pmcheck.8", "REASONS") {
		if name, is := strings.CutPrefix(line, ".It "); is {
			of = name
		} else if reasons, is := strings.CutPrefix(line, ".Cm "); is && of != "" {
			for _, reason := range strings.Split(strings.TrimRight(reasons, " ,.:"), " , ") {
				got = append(got, of+" "+reason)
			}
		}
	}
	compare(t, want, got)
}

func TestManualRenders(t *testing.T) {
	pages, err := filepath.Glob(manDir + "*.[58]")
	if err != nil || len(pages) != 3 {
		t.Fatalf("pages %v, %v", pages, err)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(groff, append([]string{"-man", "-mdoc", "-ww", "-Tutf8", "-z"}, pages...)...)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("groff: %v %s", err, out)
	}
}

func compare[T any](t *testing.T, program, manual T) {
	t.Helper()
	if diff := cmp.Diff(program, manual); diff != "" {
		t.Errorf("(-program +manual)\n%s", diff)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func lines(t *testing.T, page, section string) func(yield func(string) bool) {
	t.Helper()
	_, text, found := strings.Cut(read(t, manDir+page), "\n.Sh "+section+"\n")
	if !found {
		t.Fatalf("%s has no section %s", page, section)
	}
	text, _, _ = strings.Cut(text, "\n.Sh ")
	return strings.SplitSeq(text, "\n")
}
