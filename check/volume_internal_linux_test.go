package check

import (
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
		if got := readOnly(mountinfo, unix.Mkdev(253, tt.minor)); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
