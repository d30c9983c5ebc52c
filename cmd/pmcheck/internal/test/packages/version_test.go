//go:build linux

package packages_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// sources is a repository with what makes a version, each commit a second after the one before.
type sources struct {
	t       *testing.T
	dir     string
	commits int
}

// run returns what a shell prints in the repository.
func (s *sources) run(line string) string {
	s.t.Helper()
	cmd := exec.Command("sh", "-euc", line)
	cmd.Dir = s.dir
	date := "2026-01-01T00:00:0" + string(rune('0'+s.commits)) + "Z"
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=pmcheck", "GIT_AUTHOR_EMAIL=pmcheck", "GIT_COMMITTER_NAME=pmcheck",
		"GIT_COMMITTER_EMAIL=pmcheck", "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	return strings.TrimSpace(lab.Output(s.t, cmd))
}

// TestVersionsSortInTheOrderOfTheCommits makes a history, asks for the version of each commit in
// the checkout and in its archive, and lets dpkg and rpm compare.
func TestVersionsSortInTheOrderOfTheCommits(t *testing.T) {
	lab.Need(t, "dpkg", "dpkg")
	lab.Need(t, "rpm", "rpm")
	s := &sources{t: t, dir: t.TempDir()}
	s.run("git init --quiet; mkdir packaging; cp " + lab.File(t, "packaging/version") + " " +
		lab.File(t, "packaging/commit") + " packaging; cp " + lab.File(t, ".gitattributes") + " .")
	hash := regexp.MustCompile(`\.[0-9a-f]{8}$`)
	before := ""
	for _, c := range []struct {
		heading, tag, want string
	}{
		{heading: "0.9.0", want: "0.9.0~git20260101000001.HASH"},
		{heading: "0.9.0", want: "0.9.0~git20260101000002.HASH"},
		{heading: "0.9.0", tag: "v0.9.0", want: "0.9.0"},
		{heading: "0.9.0", want: "0.9.1~git20260101000004.HASH"},
		{heading: "0.10.0", want: "0.10.0~git20260101000005.HASH"},
		{heading: "0.10.0", tag: "v0.10.0", want: "0.10.0"},
	} {
		s.commits++
		s.run("echo '## [" + c.heading + "] - Unreleased' >CHANGELOG.md")
		s.run("git add .; git commit --quiet --allow-empty -m change")
		if c.tag != "" {
			s.run("git tag " + c.tag)
		}
		got := s.run("packaging/version")
		if hash.ReplaceAllString(got, ".HASH") != c.want {
			t.Errorf("commit %d is %s, want %s", s.commits, got, c.want)
		}
		copies := t.TempDir()
		s.run("git archive HEAD | tar -x -C " + copies)
		if archived := s.run(copies + "/packaging/version"); archived != got {
			t.Errorf("commit %d is %s, its archive %s", s.commits, got, archived)
		}
		if before != "" {
			s.run("dpkg --compare-versions " + before + "-1 lt " + got + "-1")
			if order := s.run(`rpm --eval '%{lua:print(rpm.vercmp("` + before + `", "` + got + `"))}'`); order != "-1" {
				t.Errorf("rpm compares %s with %s as %s, want -1", before, got, order)
			}
		}
		before = got
	}
	s.run("echo >>CHANGELOG.md")
	want := "0.10.1~git20260101000006.HASH.dirty"
	if got := s.run("packaging/version | sed -E 's/[.][0-9a-f]{8}[.]/.HASH./'"); got != want {
		t.Errorf("with a change that is not committed the version is %s, want %s", got, want)
	}
	given := "VERSION=v1.2.3-rc1 packaging/version; VERSION=1.2.3~rc1 packaging/version semver"
	if got := s.run(given); got != "1.2.3~rc1\n1.2.3-rc1" {
		t.Errorf("a given version and its form for the Forge are\n%s", got)
	}
}

// TestChangelogAndModuleNameOneVersion: the module has the version that is being built.
func TestChangelogAndModuleNameOneVersion(t *testing.T) {
	heading := regexp.MustCompile(`(?m)^## \[(.*)\]`).FindStringSubmatch(lab.ReadFile(t, "CHANGELOG.md"))
	module := regexp.MustCompile(`"version": "(.*)"`).FindStringSubmatch(lab.ReadFile(t, "packaging/puppet/metadata.json"))
	if heading == nil || module == nil || heading[1] != module[1] {
		t.Errorf("the newest heading of the changelog is %q, the version in metadata.json %q", heading, module)
	}
}
