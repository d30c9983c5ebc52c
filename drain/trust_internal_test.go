package drain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDirectoryNamedByOthersIsTrustedOnlyIfRootMadeIt(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	me := vouch{root: root, uid: uint32(os.Getuid())}
	// dir makes name below root with a mode, and with the marker in it.
	dir := func(name string, mode os.FileMode) string {
		path := filepath.Join(root, name)
		for _, err := range []error{
			os.MkdirAll(path, 0o755),
			os.WriteFile(filepath.Join(path, marker), nil, 0o644),
			os.Chmod(path, mode),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	link := func(name, to string) string {
		path := filepath.Join(root, name)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := dir("var/lib/pmcheck/holds", 0o755)
	unmarked := dir("unmarked", 0o755)
	os.Remove(filepath.Join(unmarked, marker))
	open, openMarker := dir("open/holds", 0o755), dir("open-marker", 0o755)
	os.Chmod(filepath.Join(root, "open"), 0o775)
	os.Chmod(filepath.Join(openMarker, marker), 0o664)
	linkedMarker := dir("linked-marker", 0o755)
	os.Remove(filepath.Join(linkedMarker, marker))
	link("linked-marker/"+marker, filepath.Join(plain, marker))
	other := me
	other.uid++
	for _, tt := range []struct {
		name string
		as   vouch
		dir  string
		want string // the error; empty for none
	}{
		{"as the packages make it", me, plain, ""},
		{"a group sets holds", me, dir("shared", 0o2775), ""},
		{"no marker", me, unmarked, "it has no .initialized"},
		{"of another user", other, plain, "belongs to user"},
		{"world-writable", me, dir("world", 0o777), "can be written by others"},
		{"a parent is writable", me, open, "open can be written by others"},
		{"a marker that others can write", me, openMarker, ".initialized can be written"},
		{"a marker that is a link", me, linkedMarker, ".initialized is a symbolic link"},
		{"a link", me, link("link", plain), "link is a symbolic link"},
		{"behind a link", me, link("lib", filepath.Join(root, "var/lib")) + "/pmcheck/holds", "lib is a symbolic link"},
		{"a file", me, filepath.Join(plain, marker), "is not of the right type"},
		{"missing", me, filepath.Join(root, "missing"), "no such file"},
		{"not clean", me, plain + "/../holds", "not a clean absolute path"},
		{"relative", me, "holds", "not a clean absolute path"},
		{"empty", me, "", "not a clean absolute path"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.as.check(tt.dir)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

// None has the marker, and a parent of the last one, /tmp, is world-writable.
func TestDirectoriesOfTheSystemAreNotTrusted(t *testing.T) {
	for _, dir := range []string{"/etc", "/", t.TempDir()} {
		if err := (&Store{Persistent: dir}).CheckTrusted(); err == nil {
			t.Errorf("%s is trusted", dir)
		}
	}
}
