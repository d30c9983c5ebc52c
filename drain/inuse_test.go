package drain_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pmcheck/pmcheck/drain"
)

func TestMarkInUseFollowsNoLinkAndKeepsNewHostsNew(t *testing.T) {
	const marker = ".initialized"
	tests := []struct {
		name    string
		initial drain.Mode
		plant   func(dir, target string) error
		new     bool // with initial mode maint, afterwards
	}{
		{"a host in use", drain.Ready, nil, false},
		{"a host that was never made ready", drain.Maint, nil, true},
		{"a link to nothing", drain.Ready, func(dir, target string) error {
			return os.Symlink(target+".missing", filepath.Join(dir, marker))
		}, false},
		{"a link to a file", drain.Ready, func(dir, target string) error {
			return os.Symlink(target, filepath.Join(dir, marker))
		}, false},
		{"a file", drain.Ready, func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, marker), nil, 0o644)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, target := t.TempDir(), filepath.Join(t.TempDir(), "cron.allow")
			if err := os.WriteFile(target, []byte("root\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if tt.plant != nil {
				if err := tt.plant(dir, target); err != nil {
					t.Fatal(err)
				}
			}
			if err := (&drain.Store{Persistent: dir, Initial: tt.initial}).MarkInUse(); err != nil {
				t.Fatal(err)
			}
			if data, err := os.ReadFile(target); err != nil || string(data) != "root\n" {
				t.Errorf("the target of the link: %q, %v", data, err)
			}
			if _, err := os.Stat(target + ".missing"); err == nil {
				t.Error("the target of the dangling link was created")
			}
			later := drain.Store{Persistent: dir, Initial: drain.Maint}
			if mode, _ := later.Read().Mode("server", later.Read().Taken()); (mode == drain.Maint) != tt.new {
				t.Errorf("with an initial mode the host is in %s", mode)
			}
		})
	}
}
