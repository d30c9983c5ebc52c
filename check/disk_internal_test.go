package check

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVolumeIsJudgedByFreeSpace(t *testing.T) {
	const gib = 1 << 30
	for _, tt := range []struct {
		name   string
		volume volume
		want   State
		reason Reason
	}{
		{"half of it free", volume{size: 100 * gib, free: 50 * gib, inodes: 1000, freeInodes: 500}, StateOK, ""},
		{"at the warning", volume{size: 100 * gib, free: 10 * gib}, StateOK, ""},
		{"below the warning", volume{size: 100 * gib, free: 10*gib - 1}, StateWarn, DiskLow},
		{"inodes below the warning", volume{size: gib, free: gib, inodes: 100_000, freeInodes: 9_999}, StateWarn, DiskLow},
		{"just enough", volume{size: 100 * gib, free: 64 << 20}, StateWarn, DiskLow},
		{"full", volume{size: 100 * gib, free: 64<<20 - 1}, StateBad, DiskFull},
		{"out of inodes", volume{size: gib, free: gib, inodes: 100_000, freeInodes: 99}, StateBad, DiskFull},
		{"small, little used", volume{size: 60 << 20, free: 50 << 20}, StateOK, ""},
		{"small, full", volume{size: 60 << 20, free: 1 << 20}, StateBad, DiskFull},
		{"small, just enough", volume{size: 100 << 20, free: 5 << 20}, StateWarn, DiskLow},
		{"small, full to a byte", volume{size: 100 << 20, free: 5<<20 - 1}, StateBad, DiskFull},
		{"few inodes, just enough", volume{size: gib, free: gib, inodes: 1000, freeInodes: 50}, StateWarn, DiskLow},
		{"few inodes, out of them", volume{size: gib, free: gib, inodes: 1000, freeInodes: 49}, StateBad, DiskFull},
		{"an object store", volume{size: 1 << 63, free: 1 << 63}, StateOK, ""},
		{"read-only", volume{size: gib, free: gib, readOnly: true}, StateBad, DiskFull},
	} {
		d := diskCheck{DiskSettings: DiskSettings{WarnPercent: 10, EjectMiB: 64}}
		got := d.judge(tt.volume)
		if got.State != tt.want || tt.want != StateOK && got.Reason != tt.reason {
			t.Errorf("%s: %s, %s; want %s, %s", tt.name, got.State, got.Reason, tt.want, tt.reason)
		}
		if (got.Health == Unhealthy) != (tt.want == StateBad) || got.Health != "" && got.Health != Unhealthy {
			t.Errorf("%s: health %q with the state %s", tt.name, got.Health, got.State)
		}
	}
}

func TestFileSystemIsJudgedOnce(t *testing.T) {
	dir := t.TempDir()
	d := &diskCheck{DiskSettings: DiskSettings{Paths: []string{dir, dir, t.TempDir()}}}
	got := d.check(t.Context())
	if got.State != StateOK || strings.Count(got.Value, "MiB") != 1 {
		t.Errorf("%s, %q (%s); want ok and one file system", got.State, got.Value, got.Detail)
	}
}

func TestMissingPathIsUnknown(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "nowhere")
	for _, tt := range []struct {
		name    string
		paths   []string
		warn    int
		want    State
		details string
	}{
		{"one of two", []string{missing, dir}, 0, StateNone, missing},
		{"the other is low", []string{missing, dir}, 101, StateWarn, dir},
		{"none configured", nil, 10, StateNone, "nothing to look at"},
	} {
		got := (&diskCheck{DiskSettings: DiskSettings{Paths: tt.paths, WarnPercent: tt.warn}}).check(t.Context())
		if got.State != tt.want || got.Health != "" || !strings.Contains(got.Detail, tt.details) {
			t.Errorf("%s: %s, health %q, %q; want %s, %q", tt.name, got.State, got.Health, got.Detail, tt.want, tt.details)
		}
		if hasValue := got.Value != ""; hasValue != (got.State != StateNone) { // an unknown value is an old one
			t.Errorf("%s: the value is %q", tt.name, got.Value)
		}
	}
}

func TestHangingFileSystemDelaysNoOther(t *testing.T) {
	dir := t.TempDir()
	d := &diskCheck{DiskSettings: DiskSettings{Paths: []string{"/dead", dir}, WarnPercent: 101}}
	hangs, calls := make(chan struct{}), 0
	first := d.calls.DoChan("/dead", func() (any, error) { calls++; <-hangs; return volume{}, fs.ErrNotExist })
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		got := d.check(ctx)
		if got.State != StateWarn || !strings.Contains(got.Detail, "/dead: the file system does not answer") ||
			!strings.Contains(got.Value, dir) {
			t.Errorf("%s, %q, %q", got.State, got.Value, got.Detail)
		}
	}
	close(hangs)
	if <-first; calls != 1 {
		t.Errorf("%d calls for a file system that hangs, want one", calls)
	}
}
