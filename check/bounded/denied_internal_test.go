package bounded

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// systemd 252 mounts /run/systemd/inaccessible/dir, which is on a tmpfs, over what InaccessiblePaths= names.
func TestWhatTheUnitHidesIsTold(t *testing.T) {
	const etc, tmpfs, dir = 1, 2, syscall.S_IFDIR
	above := &syscall.Stat_t{Dev: etc, Mode: dir | 0o755}
	for _, tt := range []struct {
		name   string
		file   syscall.Stat_t
		hidden bool
	}{
		{"InaccessiblePaths=", syscall.Stat_t{Dev: tmpfs, Mode: dir}, true},
		{"chmod 0", syscall.Stat_t{Dev: etc, Mode: dir}, false},
		{"chmod 0700 on a file system of its own", syscall.Stat_t{Dev: tmpfs, Mode: dir | 0o700}, false},
		{"chmod 0 by a user on a file system of its own", syscall.Stat_t{Dev: tmpfs, Mode: dir, Uid: 1000}, false},
	} {
		if got := isHidden(&tt.file, above); got != tt.hidden {
			t.Errorf("%s: hidden %v", tt.name, got)
		}
	}
}

func TestAFileThatMayNotBeReadIsNamedWithItsOwner(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key.pem")
	if err := os.WriteFile(key, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	denied := &fs.PathError{Op: "open", Path: key, Err: fs.ErrPermission}
	for _, tt := range []struct{ path, want string }{
		{key, "permission denied (" + key + " has owner "},
		{key, ", mode 0640)"},
		{filepath.Join(dir, "hidden", "key.pem"), "(" + dir + " has owner "},
	} {
		if got := Denied(denied, tt.path).Error(); !strings.Contains(got, tt.want) {
			t.Errorf("%q lacks %q", got, tt.want)
		}
	}
}
