package bounded_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/pmcheck/pmcheck/check/bounded"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(path("file"), []byte("x"), 0o600))
	must(t, os.WriteFile(path("full"), make([]byte, 1<<20), 0o600))
	must(t, os.WriteFile(path("large"), make([]byte, 1<<20+1), 0o600))
	must(t, os.Symlink("file", path("link")))
	must(t, os.Symlink("fifo", path("link to a FIFO")))
	must(t, syscall.Mkfifo(path("fifo"), 0o600)) // opening it would wait for a writer
	for _, tt := range []struct {
		path string
		want string // of the error; empty if the file is read
	}{
		{path("file"), ""},
		{path("link"), ""},
		{path("full"), ""},
		{path("large"), "is larger than 1 MiB"},
		{path("fifo"), "is not a regular file"},
		{path("link to a FIFO"), "is not a regular file"},
		{dir, "is not a regular file"},
		{"/dev/zero", "is not a regular file"},
		{path("none"), "no such file or directory"},
	} {
		data, err := bounded.File(tt.path, 1<<20)
		if tt.want == "" && (err != nil || len(data) == 0) || tt.want != "" && !strings.HasSuffix(errorOf(err), tt.want) {
			t.Errorf("%s: %d bytes, %v; want error %q", tt.path, len(data), err, tt.want)
		}
	}
}

func errorOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAListHasNoMoreItemsThanItsLimit(t *testing.T) {
	for data, want := range map[string]int{`[]`: 0, `null`: 0, `[1,2]`: 2, `[1,2,3]`: 3} {
		if list, err := bounded.List[int]([]byte(data), 3); err != nil || len(list) != want {
			t.Errorf("%s: %v, %v; want %d items", data, list, err, want)
		}
	}
	for _, data := range []string{``, `{}`, `1`, `[1`, `[1,]`, `["x"]`} {
		if list, err := bounded.List[int]([]byte(data), 3); err == nil {
			t.Errorf("%s: %v, want an error", data, list)
		}
	}
	endless := []byte("[" + strings.Repeat("{},", 1<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := bounded.List[struct{ X [100]int }](endless, 3); !errors.Is(err, bounded.ErrTooMany) {
		t.Errorf("error %v, want ErrTooMany", err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<10 {
		t.Errorf("a list that is too long took %d bytes", took)
	}
}
