package check_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pmcheck/pmcheck/check"
)

const r10kRecord = `{"name": "production", "signature": "8820892b7ea4", "started_at": "2026-11-20 09:00:00 +0000",
  "deploy_success": true, "module_deploys": [{"name": "stdlib", "version": "9.6.0", "sha": null},
    {"name": "profile", "version": "main", "sha": "6a2d3d3c7e5b"}]}`

// idOf returns the ID of an environment with these files.
func idOf(t *testing.T, files map[string]string) string {
	t.Helper()
	return findCode(t, files).Code[0].ID
}

// findCode returns the finding for one environment with these files.
func findCode(t *testing.T, files map[string]string) check.Finding {
	t.Helper()
	dir, environment := t.TempDir(), fstest.MapFS{}
	for name, content := range files {
		environment["production/"+name] = &fstest.MapFile{Data: []byte(content), Mode: 0o600}
	}
	if err := os.CopyFS(dir, environment); err != nil {
		t.Fatal(err)
	}
	for _, path := range must(filepath.Glob(filepath.Join(dir, "production", "*"))) {
		then := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
		os.Chtimes(path, then, then)
	}
	got := newCode(dir).Run(t.Context())
	if len(got.Code) != 1 || got.Code[0].Name != "production" || got.Health != "" {
		t.Fatalf("%+v, want one environment", got)
	}
	return got
}

func newCode(dir string) *check.Scheduled {
	all := check.All().With(check.CodeSettings{Dir: dir})
	return all.Scheduled(check.Host{})[check.CheckCode]
}

func TestCodeIsIdentified(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	empty := idOf(t, map[string]string{".git/HEAD": "", ".r10k-deploy.json": ""})
	deployed := idOf(t, map[string]string{".r10k-deploy.json": r10kRecord})
	edited := func(pairs ...string) map[string]string {
		return map[string]string{".r10k-deploy.json": strings.NewReplacer(pairs...).Replace(r10kRecord)}
	}
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string // empty: any but that of r10kRecord
	}{
		{"deployed at another time", edited("09:00:00", "08:59:59"), deployed},
		{"modules in another order", edited("stdlib", "profile", "profile", "stdlib", "9.6.0", "main", "main", "9.6.0",
			"null", `"6a2d3d3c7e5b"`, `"6a2d3d3c7e5b"`, "null"), deployed},
		{"another version of a module", edited("9.6.0", "9.6.1"), ""},
		{"another commit of a module", edited("6a2d3d", "7a2d3d"), ""},
		{"failed", edited("true", "false"), ""},
		{"by g10k", map[string]string{".g10k-deploy.json": `{"deploy_success":true,"puppetfile_checksum":"ab"}`}, ""},
		{"a branch", map[string]string{".git/HEAD": "ref: refs/heads/a\n", ".git/refs/heads/a": commit + "\n"},
			commit[:12]},
		{"a branch that is packed", map[string]string{".git/HEAD": "ref: refs/heads/a\n", ".git/packed-refs": "# p\n" +
			strings.Repeat("f", 40) + " refs/heads/ab\n" + commit + " refs/heads/a\n^" + strings.Repeat("e", 40) + "\n"},
			commit[:12]},
		{"a branch that was packed before", map[string]string{".git/HEAD": "ref: refs/heads/a\n",
			".git/refs/heads/a": commit, ".git/packed-refs": strings.Repeat("f", 40) + " refs/heads/a\n"}, commit[:12]},
		{"a ref that names a ref", map[string]string{".git/HEAD": "ref: refs/heads/a",
			".git/refs/heads/a": "ref: refs/heads/b", ".git/refs/heads/b": commit}, commit[:12]},
		{"refs in a circle", map[string]string{".git/HEAD": "ref: refs/heads/a", ".git/refs/heads/a": "ref: refs/heads/a"},
			empty},
		{"a worktree", map[string]string{".git": "gitdir: git/worktrees/a", "git/worktrees/a/HEAD": "ref: refs/heads/a",
			"git/worktrees/a/commondir": "../..", "git/refs/heads/a": commit}, commit[:12]},
		{"refs as git 3 keeps them", map[string]string{".git/HEAD": "ref: refs/heads/.invalid\n"}, empty},
		{"a ref outside", map[string]string{".git/HEAD": "ref: ../../../etc/passwd"}, empty},
		{"by hand", map[string]string{"manifests/site.pp": ""}, ""},
		{"a record that is cut", map[string]string{".r10k-deploy.json": r10kRecord[:100]}, empty},
		{"a record that is too long", map[string]string{".r10k-deploy.json": r10kRecord + strings.Repeat(" ", 1<<20)},
			empty},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := idOf(t, tt.files)
			if tt.want != "" && got != tt.want || tt.want == "" && (got == deployed || len(got) != 12) {
				t.Errorf("%q, want %q, or another than %q", got, tt.want, deployed)
			}
		})
	}
}

// TestCodeIsIdentifiedByItsContent where nothing names a version: by rsync, svn, hg, Puppet, or by hand.
func TestCodeIsIdentifiedByItsContent(t *testing.T) {
	tree := fstest.MapFS{
		"production/manifests/site.pp":                     {Data: []byte("node default {}"), Mode: 0o600},
		"production/modules/profile/manifests/base/ntp.pp": {Data: []byte("class a {}"), Mode: 0o600},
		"production/.svn/wc.db":                            {Data: []byte("m1"), Mode: 0o600},
	}
	deploy := func() string {
		dir := t.TempDir()
		if err := os.CopyFS(dir, tree); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	id := func(c *check.Scheduled) string {
		t.Helper()
		list := c.Run(t.Context()).Code
		if len(list) != 1 || list[0].ID == "" {
			t.Fatalf("%+v, want one environment with an ID", list)
		}
		return list[0].ID
	}

	first, second := deploy(), deploy()
	deep := filepath.Join(second, "production", "modules", "profile", "manifests", "base", "ntp.pp")
	if err := os.WriteFile(filepath.Join(second, "production", ".svn", "wc.db"), []byte("m2"), 0o600); err != nil {
		t.Fatal(err)
	}
	then := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	os.Chtimes(deep, then, then)
	check1, check2 := newCode(first), newCode(second)
	same := id(check1)
	if got := id(check2); got != same {
		t.Errorf("%q and %q for the same code, copied at other times", same, got)
	}

	for _, tt := range []struct {
		name string
		do   func() error
	}{
		{"a file deep below, of the same size and time, as by rsync -a", func() error {
			return errors.Join(os.WriteFile(deep, []byte("class b {}"), 0o600), os.Chtimes(deep, then, then))
		}},
		{"a file is renamed", func() error { return os.Rename(deep, deep+"_") }},
		{"a file is a link to the same content", func() error {
			return errors.Join(os.WriteFile(first+"/ntp", []byte("class a {}"), 0o600), os.Remove(deep+"_"),
				os.Symlink(first+"/ntp", deep))
		}},
		{"an empty directory more", func() error { return os.Mkdir(filepath.Join(second, "production", "data"), 0o755) }},
		{"a link in a circle", func() error { return os.Symlink("..", filepath.Join(second, "production", "data", "all")) }},
		{"a link that leads nowhere", func() error {
			return os.Symlink("nowhere", filepath.Join(second, "production", "data", "none"))
		}},
	} {
		before := id(check2)
		if err := tt.do(); err != nil {
			t.Fatal(err)
		}
		after := id(check2)
		isLink := tt.name == "a file is a link to the same content"
		if after == before || isLink != (after == same) {
			t.Errorf("%s: %q, before %q, the first %q", tt.name, after, before, same)
		}
	}
	if got := id(check1); got != same {
		t.Errorf("%q for code that has not changed, before %q", got, same)
	}
}

func TestFailedDeploymentIsAWarningWithItsTime(t *testing.T) {
	const r10k, g10k = ".r10k-deploy.json", ".g10k-deploy.json"
	long := strings.Repeat("x", 1000)
	for _, tt := range []struct {
		name, file, record string
		want               string // the detail; empty: no warning
	}{
		{"by r10k", r10k, `{"deploy_success":false,"started_at":"09:00","finished_at":"2026-11-20 09:01:00 +0000"}`,
			"production (2026-11-20 09:01:00 +0000)"},
		{"without an end", r10k, `{"deploy_success":false,"started_at":"2026-11-20 09:00"}`, "production (2026-11-20 09:00)"},
		{"without a time", r10k, `{"deploy_success":false}`, "production (2026-11-20T09:00:00Z)"},
		{"g10k died", g10k, `{"deploy_success":false,"started_at":"9:00","finished_at":"0001-01-01T00:00:00Z"}`,
			"production (9:00)"},
		{"a hostile time", r10k, `{"deploy_success":false,"finished_at":"\u001b[2J` + long + `"}`,
			"production ([2J" + long[:37] + ")"},
		{"succeeded", r10k, r10kRecord, ""},
		{"no record", r10k, `{"finished_at":"2026-11-20"}`, ""},
	} {
		got := findCode(t, map[string]string{tt.file: tt.record})
		want := check.Finding{State: check.StateOK, Reason: check.OK}
		if tt.want != "" {
			want = check.Finding{State: check.StateWarn, Reason: check.DeployFailed,
				Detail: "the last deployment failed: " + tt.want}
		}
		if got.State != want.State || got.Reason != want.Reason || got.Detail != want.Detail {
			t.Errorf("%s: %s %s %q, want %s %s %q", tt.name, got.State, got.Reason, got.Detail, want.State, want.Reason,
				want.Detail)
		}
	}
}

// g10k writes deploy_success false when it begins.
func TestDeploymentUnderWayIsNoFailure(t *testing.T) {
	dir := t.TempDir()
	record := filepath.Join(dir, "production", ".g10k-deploy.json")
	if err := os.CopyFS(dir, fstest.MapFS{"production/.g10k-deploy.json": &fstest.MapFile{
		Data: []byte(`{"deploy_success":false,"finished_at":"0001-01-01T00:00:00Z"}`), Mode: 0o600}}); err != nil {
		t.Fatal(err)
	}
	for age, want := range map[time.Duration]check.State{
		59 * time.Minute: check.StateOK,
		61 * time.Minute: check.StateWarn,
	} {
		then := time.Now().Add(-age)
		if err := os.Chtimes(record, then, then); err != nil {
			t.Fatal(err)
		}
		if got := newCode(dir).Run(t.Context()); got.State != want {
			t.Errorf("after %s: %+v, want %s", age, got, want)
		}
	}
}

func TestCodeIsBounded(t *testing.T) {
	dir := t.TempDir()
	if got := newCode(dir).Run(t.Context()); got.Check != "" {
		t.Errorf("%+v without an environment, want none", got)
	}
	for i := range 1001 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprint("feature_", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fifo := filepath.Join(dir, "feature_0", ".r10k-deploy.json")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := newCode(dir).Run(t.Context()); len(got.Code) != 1000 {
		t.Errorf("%d environments, want 1000", len(got.Code))
	}
	if got := newCode(dir + "/missing").Run(t.Context()); got.State != check.StateNone {
		t.Errorf("%+v without the directory, want unknown", got)
	}
}

// TestACommitIsTheSameAfterGitPacksItsRefs: git gc does, by itself.
func TestACommitIsTheSameAfterGitPacksItsRefs(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	environment := filepath.Join(dir, "production")
	run := func(args ...string) {
		t.Helper()
		as := []string{"-c", "user.name=x", "-c", "user.email=x@example.test", "-C", dir}
		cmd := exec.Command(git, append(as, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v %s", args, err, out)
		}
	}
	run("init", "--quiet", environment)
	run("-C", environment, "commit", "--quiet", "--allow-empty", "--message", "x")
	before := newCode(dir).Run(t.Context()).Code
	run("-C", environment, "gc", "--quiet")
	after := newCode(dir).Run(t.Context()).Code
	run("-C", environment, "worktree", "add", "--quiet", "-b", "other", filepath.Join(dir, "testing"))
	both := newCode(dir).Run(t.Context()).Code
	head := string(must(os.ReadFile(filepath.Join(environment, ".git", "packed-refs"))))
	if len(before) != 1 || len(after) != 1 || len(both) != 2 || !strings.Contains(head, after[0].ID) ||
		before[0].ID != after[0].ID || both[1].ID != after[0].ID {
		t.Errorf("%+v before, %+v after git gc, %+v with a worktree; packed: %s", before, after, both, head)
	}
}
