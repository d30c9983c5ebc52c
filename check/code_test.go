package check_test

import (
	"fmt"
	"os"
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

// findCode returns the finding for one environment with these files, which are as old as the directory.
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
	all := check.All()
	all.Code().Dir = dir
	return all.Scheduled(check.Host{})[check.CheckCode]
}

func TestCodeIsIdentified(t *testing.T) {
	const commit, mtime = "0123456789abcdef0123456789abcdef01234567", "2026-11-20T09:00:00Z"
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
		{"a ref outside", map[string]string{".git/HEAD": "ref: ../../../etc/passwd"}, mtime},
		{"by hand", map[string]string{"manifests/site.pp": ""}, mtime},
		{"a record that is cut", map[string]string{".r10k-deploy.json": r10kRecord[:100]}, mtime},
		{"a record that is too long", map[string]string{".r10k-deploy.json": r10kRecord + strings.Repeat(" ", 1<<20)},
			mtime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := idOf(t, tt.files)
			if tt.want != "" && got != tt.want || tt.want == "" && (got == deployed || len(got) != 12) {
				t.Errorf("%q, want %q, or another than %q", got, tt.want, deployed)
			}
		})
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
