package check_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pmcheck/pmcheck/check"
)

// r10k writes times in Ruby's format, g10k in Go's.
const (
	r10kRecord = `{
  "name": "production",
  "signature": "8820892b7ea4c4e9fd6a2d3d3c7e5b4e6f0c1d2e",
  "started_at": "2026-11-20 09:00:00 +0000",
  "finished_at": "2026-11-20 10:00:30 +0100",
  "deploy_success": true,
  "module_deploys": [
    {"name": "stdlib", "version": "9.6.0", "sha": null},
    {"name": "profile", "version": "main", "sha": "6a2d3d3c7e5b4e6f0c1d2e8820892b7ea4c4e9fd"}
  ]
}`
	g10kRecord = `{"name":"main","signature":"8820892b7ea4","started_at":"2026-11-20T09:00:00.123456789Z",` +
		`"finished_at":"2026-11-20T09:00:30.5+01:00","deploy_success":true,` +
		`"puppetfile_checksum":"ab12","git_dir":"/var/cache/g10k"}`
)

func newCode(t *testing.T, dir string) *check.Scheduled {
	t.Helper()
	return schedule(t, nil, func(s *check.CodeSettings) { s.Dir = dir })
}

// deploy writes a record into an environment.
func deploy(t *testing.T, dir, environment, record string) {
	t.Helper()
	name := ".r10k-deploy.json"
	if strings.Contains(record, "git_dir") {
		name = ".g10k-deploy.json"
	}
	if err := os.MkdirAll(filepath.Join(dir, environment), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, environment, name), []byte(record))
}

// record returns a record of r10k with these times. If finished is zero,
// finished_at is empty.
func record(started, finished time.Time, success bool) string {
	const layout = "2006-01-02 15:04:05 -0700"
	end := ""
	if !finished.IsZero() {
		end = finished.Format(layout)
	}
	return fmt.Sprintf(`{"signature":"1","started_at":%q,"finished_at":%q,"deploy_success":%v}`, started.Format(layout),
		end, success)
}

func TestCodeReportsEachDeployment(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	good := record(ago(2*time.Hour), ago(time.Hour), true)
	failed := record(ago(2*time.Minute), ago(time.Minute), false)
	tests := []struct {
		name    string
		records map[string]string
		want    check.State
		reason  check.Reason
		detail  string
	}{
		{"no records", nil, check.StateNone, check.NotKnown, "no environment"},
		{"r10k", map[string]string{"production": r10kRecord}, check.StateOK, check.OK, ""},
		{"failed", map[string]string{"a": good, "b": record(ago(time.Hour), ago(time.Minute), false)}, check.StateWarn,
			check.DeployFailed, "b: "},
		// The end and the success are those of the deployment before: an end before the beginning is none.
		{"under way", map[string]string{"a": record(ago(time.Minute), ago(time.Hour), true), "b": good}, check.StateWarn,
			check.DeployUnderWay, "a: "},
		{"begun, no end", map[string]string{"a": record(ago(time.Minute), time.Time{}, false)}, check.StateWarn,
			check.DeployUnderWay, "a: "},
		{"begun, never ended", map[string]string{"a": record(ago(2*time.Hour), time.Time{}, false)}, check.StateWarn,
			check.DeployFailed, "a: "},
		{"g10k, under way",
			map[string]string{"a": fmt.Sprintf(
				`{"started_at":%q,"finished_at":"0001-01-01T00:00:00Z","deploy_success":false,"git_dir":""}`,
				ago(time.Minute).Format(time.RFC3339Nano))},
			check.StateWarn, check.DeployUnderWay, "a: "},
		{"failed is worse than under way", map[string]string{"a": record(ago(time.Minute), time.Time{}, false),
			"b": failed, "c": "{"},
			check.StateWarn, check.DeployFailed, "b: the deployment that ended"},
		{"more failures are counted",
			map[string]string{"a": failed, "b": failed, "c": good, "d": "{"},
			check.StateWarn, check.DeployFailed, "; and 2 more"},
		{"empty", map[string]string{"a": "", "b": good}, check.StateNone, check.NotKnown, "a: "},
		{"truncated", map[string]string{"a": r10kRecord[:100]}, check.StateNone, check.NotKnown, "a: "},
		{"without deploy_success", map[string]string{"a": `{"signature":"1"}`}, check.StateNone, check.NotKnown, "a: "},
		{"success as a string", map[string]string{"a": `{"deploy_success":"true"}`}, check.StateNone, check.NotKnown, "a: "},
		{"success as null", map[string]string{"a": `{"deploy_success":null}`}, check.StateNone, check.NotKnown, "a: "},
		{"too long", map[string]string{"a": good + strings.Repeat(" ", 4<<20)}, check.StateNone, check.NotKnown, "a: "},
		{"times that cannot be read",
			map[string]string{"a": `{"started_at":"yesterday","finished_at":"today","deploy_success":true}`},
			check.StateOK, check.OK, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "README"), nil)
			if err := os.MkdirAll(filepath.Join(dir, "by-hand"), 0o755); err != nil {
				t.Fatal(err)
			}
			for environment, record := range tt.records {
				deploy(t, dir, environment, record)
			}
			got := newCode(t, dir).Check(context.Background())
			if got.State != tt.want || got.Reason != tt.reason || !strings.Contains(got.Detail, tt.detail) {
				t.Errorf("%s, %s, %q; want %s, %s, %q", got.State, got.Reason, got.Detail, tt.want, tt.reason, tt.detail)
			}
			if len(got.Code) != len(tt.records) || got.Health != "" {
				t.Errorf("%d environments, health %q; want %d and none", len(got.Code), got.Health, len(tt.records))
			}
		})
	}
}

func TestEnvironmentHasTheFieldsOfItsRecord(t *testing.T) {
	dir := t.TempDir()
	deploy(t, dir, "production", r10kRecord)
	deploy(t, dir, "testing", g10kRecord)
	got := newCode(t, dir).Check(context.Background()).Code
	if len(got) != 2 {
		t.Fatalf("%d environments, want 2: %+v", len(got), got)
	}
	r10k, g10k := got[0], got[1]
	if r10k.Name != "production" || r10k.Modules != 2 || !strings.HasPrefix(r10k.Signature, "8820892b") ||
		r10k.Finished.Sub(r10k.Started) != 30*time.Second {
		t.Errorf("%+v", r10k)
	}
	if g10k.Name != "testing" || g10k.Signature != "8820892b7ea4" || g10k.Started.IsZero() {
		t.Errorf("%+v", g10k)
	}
	if len(r10k.ID) != 12 || r10k.ID == g10k.ID {
		t.Errorf("IDs %q and %q", r10k.ID, g10k.ID)
	}
}

// A record that becomes readable by chmod has the size and the time that it had before.
func TestBadRecordIsReadAgainThoughItLooksUnchanged(t *testing.T) {
	dir, changed := t.TempDir(), time.Now().Add(-time.Hour)
	c := newCode(t, dir)
	look := func(record string) check.Reason {
		t.Helper()
		deploy(t, dir, "production", record)
		if err := os.Chtimes(filepath.Join(dir, "production", ".r10k-deploy.json"), changed, changed); err != nil {
			t.Fatal(err)
		}
		return c.Check(context.Background()).Code[0].Reason
	}
	if got := look(strings.Repeat("x", len(r10kRecord))); got != check.NotKnown {
		t.Errorf("bad: %s", got)
	}
	if got := look(r10kRecord); got != check.OK {
		t.Errorf("mended: %s, want %s", got, check.OK)
	}
}

func TestIDChangesWithTheCode(t *testing.T) {
	edit := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(r10kRecord) }
	tests := []struct {
		name   string
		record string
		same   bool
	}{
		{"deployed at another time", edit("09:00:00", "08:59:59"), true},
		{"modules in another order",
			`{"signature":"8820892b7ea4c4e9fd6a2d3d3c7e5b4e6f0c1d2e","deploy_success":true,"module_deploys":[` +
				`{"name":"profile","version":"main","sha":"6a2d3d3c7e5b4e6f0c1d2e8820892b7ea4c4e9fd"},` +
				`{"name":"stdlib","version":"9.6.0","sha":null}]}`, true},
		{"another commit", edit("8820892b7ea4c4e9fd", "0000000b7ea4c4e9fd"), false},
		{"another module version", edit("9.6.0", "9.6.1"), false},
		{"another module commit", edit(`"6a2d3d`, `"7a2d3d`), false},
		{"one module fewer", edit(`{"name": "stdlib", "version": "9.6.0", "sha": null},`, ""), false},
		{"failed", edit(`"deploy_success": true`, `"deploy_success": false`), false},
	}
	id := func(record string) string {
		dir := t.TempDir()
		deploy(t, dir, "production", record)
		return newCode(t, dir).Check(context.Background()).Value
	}
	want := id(r10kRecord)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := id(tt.record); (got == want) != tt.same {
				t.Errorf("ID %s after %s; want equal: %v", got, want, tt.same)
			}
		})
	}
}

func TestNewDeploymentIsSeen(t *testing.T) {
	dir := t.TempDir()
	code := newCode(t, dir)
	var ids []string
	for _, signature := range []string{"one", "two-two", "two-two"} {
		deploy(t, dir, "production", `{"deploy_success":true,"signature":"`+signature+`"}`)
		ids = append(ids, code.Check(context.Background()).Code[0].ID)
	}
	if ids[0] == ids[1] || ids[1] != ids[2] {
		t.Errorf("IDs %v, want the second and the third to be the same", ids)
	}
	if err := os.RemoveAll(filepath.Join(dir, "production")); err != nil {
		t.Fatal(err)
	}
	if got := code.Check(context.Background()); len(got.Code) != 0 {
		t.Errorf("%d environments after the only one was removed", len(got.Code))
	}
}

// Opening a FIFO would block until a writer opens it.
func TestRecordMustBeARegularFile(t *testing.T) {
	dir := t.TempDir()
	deploy(t, dir, "production", `{"deploy_success":true}`)
	path := filepath.Join(dir, "production", ".r10k-deploy.json")
	if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
		t.Skip(err)
	}
	got := newCode(t, dir).Check(t.Context())
	if got.State != check.StateNone || !strings.Contains(got.Detail, "is not a regular file") {
		t.Errorf("%s, %q", got.State, got.Detail)
	}
}

func TestEnvironmentsAreBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 1001 {
		deploy(t, dir, fmt.Sprintf("feature_%04d", i), `{"deploy_success":true}`)
	}
	if got := newCode(t, dir).Check(context.Background()); len(got.Code) != 1000 {
		t.Errorf("%d environments, want 1000", len(got.Code))
	}
	if got := newCode(t, filepath.Join(dir, "missing")).Check(context.Background()); got.State != check.StateNone {
		t.Errorf("%s without the directory, want unknown", got.State)
	}
}
