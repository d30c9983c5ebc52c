package gate_test

import (
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
	const drained, maint, sends = `{"mode": "drain"}`, `{"mode": "maint"}`, "balancer lb1 still sends"
	const ended = `{"mode": "drain", "until": "2020-01-01T00:00:00Z"}`
	type files map[string]string // by path from the persistent directory, without .json
	for _, tt := range []struct {
		name    string
		files   files
		sends   string
		missing bool // the persistent directory
		closed  bool
		reason  string
	}{
		{name: "no hold", reason: "not held"},
		{name: "the strictest holds are named", files: files{"a": maint, "b": drained, "c": maint},
			closed: true, reason: "held in maint by a, c"},
		{name: "a hold that has ended", files: files{"operator": ended}, reason: "not held"},
		{name: "a hold on the master by name", files: files{"operator@server": drained},
			closed: true, reason: "held in drain by operator"},
		{name: "a hold on another service", files: files{"operator@ca": drained}, reason: "not held"},
		{name: "an unreadable hold", files: files{"operator": "{"}, reason: "the hold of operator cannot be read"},
		{name: "an unreadable hold beside a readable one", files: files{"a": "{", "b": drained},
			closed: true, reason: "held in drain by b"},
		{name: "a missing directory", missing: true, reason: "the hold of directory cannot be read"},
		{name: "a missing directory, and a hold in the other one", missing: true, files: files{"../run/guard": drained},
			closed: true, reason: "held in drain by guard"},
		{name: "a balancer still sends", files: files{"operator": drained}, sends: sends,
			reason: "held in drain by operator, but " + sends},
		{name: "a balancer sends, not held", sends: sends, reason: "not held"},
	} {
		dir := t.TempDir()
		store := &drain.Store{Persistent: filepath.Join(dir, "holds"), UntilReboot: filepath.Join(dir, "run")}
		must(t, os.Mkdir(store.UntilReboot, 0o755))
		if !tt.missing {
			must(t, os.Mkdir(store.Persistent, 0o755))
		}
		for name, content := range tt.files {
			must(t, os.WriteFile(filepath.Join(store.Persistent, name+".json"), []byte(content), 0o644))
		}
		closed, reason := gate.Decide(store.Read(), func() string { return tt.sends }, time.Now())
		if closed != tt.closed || reason != tt.reason {
			t.Errorf("%s: closed %v: %s; want %v: %s", tt.name, closed, reason, tt.closed, tt.reason)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
