package check

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReadOnlyIsTheFileSystemNotTheMount(t *testing.T) {
	const mountinfo = `25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684092k
30 27 253:1 / /var ro,nosuid shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
31 27 253:2 / /srv rw,relatime shared:2 master:1 - ext4 /dev/vda2 ro,errors=remount-ro
32 27 253:3 / /opt\040x rw - ext4 /dev/vda3 rw,emergency_ro
33 27 253:4 / /cut rw
garbage
`
	tests := []struct {
		name  string
		minor uint32
		want  bool
	}{
		{"mounted read-only here", 1, false},
		{"read-only file system", 2, true},
		{"after an error", 3, true},
		{"truncated line", 4, false},
		{"not listed", 5, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := readOnly(mountinfo, unix.Mkdev(253, tt.minor)); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// FuzzReadOnly: no line makes readOnly panic, and only a listed device is read-only.
func FuzzReadOnly(f *testing.F) {
	f.Add("25 24 0:23 / /srv rw - tmpfs tmpfs ro,size=1k\n", uint64(23))
	f.Fuzz(func(t *testing.T, mountinfo string, device uint64) {
		if readOnly(mountinfo, device) && !slices.Contains(strings.Fields(mountinfo), deviceNumber(device)) {
			t.Errorf("%s is read-only in %q", deviceNumber(device), mountinfo)
		}
	})
}
