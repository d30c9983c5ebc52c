package check

import (
	"strings"
	"testing"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

func TestReadOnlyIsTheFileSystemNotTheMount(t *testing.T) {
	type options = map[string]string
	for _, tt := range []struct {
		name         string
		mount, super options
		want         bool
	}{
		{"mounted read-only here", options{"ro": ""}, options{"rw": "", "errors": "remount-ro"}, false},
		{"read-only file system", options{"rw": ""}, options{"ro": "", "errors": "remount-ro"}, true},
		{"after an error", options{"rw": ""}, options{"rw": "", "emergency_ro": ""}, true},
	} {
		if got := readOnly(&procfs.MountInfo{Options: tt.mount, SuperOptions: tt.super}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestAReadOnlyFileSystemTakesTheMasterOut(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_RDONLY, ""); err != nil {
		t.Skip("needs root, to mount one: ", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	got := (&diskCheck{DiskSettings: DiskSettings{Paths: []string{t.TempDir(), dir}}}).check(t.Context())
	if got.State != StateBad || got.Health != Unhealthy || got.Reason != DiskFull || !strings.Contains(got.Detail, dir) {
		t.Errorf("%+v", got)
	}
}
