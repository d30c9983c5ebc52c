package packages_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestVersionsSortInTheOrderOfTheCommits makes a history, asks for the version of each commit in
// the checkout and in its archive, and lets dpkg and rpm compare.
func TestVersionsSortInTheOrderOfTheCommits(t *testing.T) {
	lab.Need(t, "dpkg", "dpkg")
	lab.Need(t, "rpm", "rpm")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "pmcheck")
		t.Setenv("GIT_"+who+"_EMAIL", "pmcheck")
	}
	dir := t.TempDir()
	run := func(line string) string {
		t.Helper()
		return output(t, dir, line)
	}
	run("git init --quiet; mkdir packaging; cp " + lab.File(t, "packaging/version") + " " +
		lab.File(t, "packaging/commit") + " packaging; cp " + lab.File(t, ".gitattributes") + " .")
	hash := regexp.MustCompile(`\.[0-9a-f]{8}$`)
	before := ""
	for i, c := range []struct {
		heading, tag, want string
	}{
		{heading: "0.9.0", want: "0.9.0~git20260101000001.HASH"},
		{heading: "0.9.0", want: "0.9.0~git20260101000002.HASH"},
		{heading: "0.9.0", tag: "v0.9.0", want: "0.9.0"},
		{heading: "0.9.0", want: "0.9.1~git20260101000004.HASH"},
		{heading: "0.10.0", want: "0.10.0~git20260101000005.HASH"},
		{heading: "0.10.0", tag: "v0.10.0", want: "0.10.0"},
	} {
		commit := i + 1 // each a second after the one before
		date := fmt.Sprintf("2026-01-01T00:00:%02dZ", commit)
		t.Setenv("GIT_AUTHOR_DATE", date)
		t.Setenv("GIT_COMMITTER_DATE", date)
		run("echo '## [" + c.heading + "] - Unreleased' >CHANGELOG.md")
		run("git add .; git commit --quiet --allow-empty -m change")
		if c.tag != "" {
			run("git tag " + c.tag)
		}
		got := run("packaging/version")
		if hash.ReplaceAllString(got, ".HASH") != c.want {
			t.Errorf("commit %d is %s, want %s", commit, got, c.want)
		}
		copies := t.TempDir()
		run("git archive HEAD | tar -x -C " + copies)
		if archived := run(copies + "/packaging/version"); archived != got {
			t.Errorf("commit %d is %s, its archive %s", commit, got, archived)
		}
		if before != "" {
			run("dpkg --compare-versions " + before + "-1 lt " + got + "-1")
			if order := run(`rpm --eval '%{lua:print(rpm.vercmp("` + before + `", "` + got + `"))}'`); order != "-1" {
				t.Errorf("rpm compares %s with %s as %s, want -1", before, got, order)
			}
		}
		before = got
	}
	run("echo >>CHANGELOG.md")
	want := "0.10.1~git20260101000006.HASH.dirty"
	if got := run("packaging/version | sed -E 's/[.][0-9a-f]{8}[.]/.HASH./'"); got != want {
		t.Errorf("with a change that is not committed the version is %s, want %s", got, want)
	}
	run("printf '## [0.11.0] - 2026-01-02\\n\\n### Added\\n\\n- One.\\n\\n## [0.10.0]\\n\\n- Two.\\n' >CHANGELOG.md")
	if got := run("packaging/version notes"); got != "### Added\n\n- One." {
		t.Errorf("the notes of the newest version are\n%s", got)
	}
	given := "VERSION=v1.2.3-rc1 packaging/version; VERSION=1.2.3~rc1 packaging/version semver"
	if got := run(given); got != "1.2.3~rc1\n1.2.3-rc1" {
		t.Errorf("a given version and its form for the Forge are\n%s", got)
	}
}
