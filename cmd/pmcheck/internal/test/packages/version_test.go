//go:build linux

package packages_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// script is packaging/version in a repository of its own.
type script struct {
	t   *testing.T
	dir string
}

func newScript(t *testing.T) script {
	t.Helper()
	s := script{t: t, dir: t.TempDir()}
	content, err := os.ReadFile(lab.File(t, "packaging/version"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.dir, "packaging"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "packaging/version"), content, 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// run returns what a command prints in the repository.
func (s script) run(program string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir,
		"GIT_AUTHOR_NAME=pmcheck", "GIT_AUTHOR_EMAIL=pmcheck@example.org",
		"GIT_COMMITTER_NAME=pmcheck", "GIT_COMMITTER_EMAIL=pmcheck@example.org"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit makes a commit, and a tag unless it is empty, and returns the version that is
// built from it, with the hash of the commit replaced by HASH.
func (s script) commit(tag string) string {
	s.t.Helper()
	s.run("git", "commit", "--quiet", "--allow-empty", "-m", "change")
	if tag != "" {
		s.run("git", "tag", tag)
	}
	return strings.ReplaceAll(s.run("packaging/version"), "g"+s.run("git", "rev-parse", "--short", "HEAD"), "gHASH")
}

// TestVersionsSortInTheOrderOfTheCommits makes a history with tags, asks for the version
// of each commit, and lets dpkg and rpm compare.
func TestVersionsSortInTheOrderOfTheCommits(t *testing.T) {
	lab.Need(t, "dpkg", "dpkg")
	lab.Need(t, "rpm", "rpm")
	s := newScript(t)
	if got := s.run("packaging/version"); got != "" {
		t.Errorf("outside of a repository the version is %q, want none", got)
	}
	s.run("git", "init", "--quiet")
	s.run("git", "add", ".")
	var versions []string
	for _, c := range []struct{ tag, want string }{
		{"", "0.0.0+1.gHASH"},
		{"", "0.0.0+2.gHASH"},
		{"v0.1.0-rc1", "0.1.0~rc1"},
		{"", "0.1.0~rc1+1.gHASH"},
		{"v0.1.0-rc2", "0.1.0~rc2"},
		{"v0.1.0", "0.1.0"},
		{"", "0.1.0+1.gHASH"},
		{"", "0.1.0+2.gHASH"},
		{"v0.1.1", "0.1.1"},
		{"v0.10.0", "0.10.0"},
		{"v1.0.0-beta", "1.0.0~beta"},
		{"v1.0.0", "1.0.0"},
	} {
		got := s.commit(c.tag)
		if got != c.want {
			t.Errorf("the version of tag %q is %s, want %s", c.tag, got, c.want)
		}
		versions = append(versions, strings.ReplaceAll(got, "HASH", "0123abc"))
	}
	for i := 1; i < len(versions); i++ {
		before, after := versions[i-1], versions[i]
		if err := exec.Command("dpkg", "--compare-versions", before+"-1", "lt", after+"-1").Run(); err != nil {
			t.Errorf("dpkg does not sort %s before %s", before, after)
		}
		if got := s.run("rpm", "--eval", `%{lua:print(rpm.vercmp("`+before+`", "`+after+`"))}`); got != "-1" {
			t.Errorf("rpm compares %s with %s as %s, want -1", before, after, got)
		}
	}
	changed := filepath.Join(s.dir, "packaging/version")
	content, err := os.ReadFile(changed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, append(content, '\n'), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := s.run("packaging/version"); got != "1.0.0+dirty" {
		t.Errorf("with a change that is not committed the version is %s, want 1.0.0+dirty", got)
	}
}

// TestVersionIsGivenInEveryForm: what a tag, git describe and a user may give.
func TestVersionIsGivenInEveryForm(t *testing.T) {
	s := newScript(t)
	for _, c := range []struct{ given, want, semver string }{
		{"v1.2.3", "1.2.3", "1.2.3"},
		{"1.2.3", "1.2.3", "1.2.3"},
		{"v1.2.3-rc1", "1.2.3~rc1", "1.2.3-rc1"},
		{"1.2.3~rc1", "1.2.3~rc1", "1.2.3-rc1"},
		{"0.1.0-dev", "0.1.0~dev", "0.1.0-dev"},
		{"v1.2.3-5-g0123abc", "1.2.3+5.g0123abc", "1.2.3+5.g0123abc"},
		{"v1.2.3-rc1-5-g0123abc", "1.2.3~rc1+5.g0123abc", "1.2.3-rc1+5.g0123abc"},
		{"v1.2.3+dirty", "1.2.3+dirty", "1.2.3+dirty"},
		{"v1.2.3-5-g0123abc+dirty", "1.2.3+5.g0123abc.dirty", "1.2.3+5.g0123abc.dirty"},
	} {
		if got := s.run("env", "VERSION="+c.given, "packaging/version"); got != c.want {
			t.Errorf("VERSION=%s: %s, want %s", c.given, got, c.want)
		}
		if got := s.run("env", "VERSION="+c.given, "packaging/version", "semver"); got != c.semver {
			t.Errorf("VERSION=%s as semver: %s, want %s", c.given, got, c.semver)
		}
	}
}
