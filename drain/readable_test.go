package drain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/drain"
)

func TestCheckReadableNamesTheDirectoryAndTheFix(t *testing.T) {
	tests := []struct {
		name   string
		change func(dir string) error
		want   string // after the name of the directory; empty for no error
	}{
		{"as it should be", func(string) error { return nil }, ""},
		{"an unreadable hold", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "backup.json"), []byte("{"), 0o644)
		}, ""},
		{"missing", os.Remove, "create it as root: install -d -m 0755 "},
		{"a file", func(dir string) error {
			return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o644))
		}, "make sure that it is a directory"},
		{"world-writable", func(dir string) error { return os.Chmod(dir, 0o777) }, "world-writable; chmod o-w "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, pick := range []func(*drain.Store) string{
				func(s *drain.Store) string { return s.Persistent },
				func(s *drain.Store) string { return s.UntilReboot },
			} {
				s, _ := newStore(t)
				must(t, tt.change(pick(s)))
				err := s.CheckReadable()
				if tt.want == "" {
					if err != nil {
						t.Errorf("%v, want no error", err)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), pick(s)) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v, want %s and %q", err, pick(s), tt.want)
				}
			}
		})
	}
}
