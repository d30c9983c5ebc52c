package puppetclient

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
		if got := withOwner(denied, tt.path).Error(); !strings.Contains(got, tt.want) {
			t.Errorf("%q lacks %q", got, tt.want)
		}
	}
}
