package gate_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/gate"
	"github.com/pmcheck/pmcheck/drain"
)

// TestDecide reads holds as they are on disk, since what counts as unreadable is for the
// store to say.
func TestDecide(t *testing.T) {
	const held, sends = `{"mode": "drain"}`, "balancer lb1 still sends"
	tests := []struct {
		name    string
		files   map[string]string
		reboot  map[string]string // in the other directory
		age     time.Duration     // of what was read
		sends   string
		missing bool // the persistent directory
		want    gate.Decision
	}{
		{name: "no hold", want: gate.Decision{Reason: "not held"}},
		{name: "drain", files: map[string]string{"operator.json": held},
			want: gate.Decision{Closed: true, Reason: "held in drain by operator"}},
		{name: "maint", files: map[string]string{"operator.json": `{"mode": "maint"}`},
			want: gate.Decision{Closed: true, Reason: "held in maint by operator"}},
		{name: "the strictest holds are named",
			files: map[string]string{"a.json": `{"mode": "maint"}`, "b.json": held, "c.json": `{"mode": "maint"}`},
			want:  gate.Decision{Closed: true, Reason: "held in maint by a, c"}},
		{name: "a hold that has ended",
			files: map[string]string{"operator.json": `{"mode": "drain", "until": "2020-01-01T00:00:00Z"}`},
			want:  gate.Decision{Reason: "not held"}},
		{name: "a hold on the master by name", files: map[string]string{"operator@server.json": held},
			want: gate.Decision{Closed: true, Reason: "held in drain by operator"}},
		{name: "a hold on another service", files: map[string]string{"operator@ca.json": held},
			want: gate.Decision{Reason: "not held"}},
		{name: "an unreadable hold", files: map[string]string{"operator.json": "{"},
			want: gate.Decision{Reason: "the hold of operator cannot be read"}},
		{name: "an unreadable hold beside a readable one", files: map[string]string{"a.json": "{", "b.json": held},
			want: gate.Decision{Closed: true, Reason: "held in drain by b"}},
		{name: "a missing directory", missing: true,
			want: gate.Decision{Reason: "the hold of directory cannot be read"}},
		{name: "a missing directory, and a hold in the other one", missing: true,
			reboot: map[string]string{"guard.json": held},
			want:   gate.Decision{Closed: true, Reason: "held in drain by guard"}},
		{name: "holds that were read long ago", files: map[string]string{"operator.json": held}, age: 16 * time.Second,
			want: gate.Decision{Reason: "the directories of holds do not answer"}},
		{name: "a balancer still sends", files: map[string]string{"operator.json": held}, sends: sends,
			want: gate.Decision{Reason: "held in drain by operator, but " + sends}},
		{name: "a balancer sends, not held", sends: sends, want: gate.Decision{Reason: "not held"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			store := &drain.Store{
				Persistent:  filepath.Join(dir, "holds"),
				UntilReboot: filepath.Join(dir, "run"),
			}
			mkdir(t, store.UntilReboot)
			if !tt.missing {
				mkdir(t, store.Persistent)
			}
			for name, content := range tt.files {
				write(t, filepath.Join(store.Persistent, name), content, 0o644)
			}
			for name, content := range tt.reboot {
				write(t, filepath.Join(store.UntilReboot, name), content, 0o644)
			}
			holds := store.Read()
			got := gate.Decide(holds, func() string { return tt.sends }, holds.Taken().Add(tt.age))
			if got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}
