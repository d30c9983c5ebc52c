package daemon

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What stands in place of the status of a gate must not fill the daemon's, nor have commands believe in a gate.
func TestAHostileGateIsNone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "gate.json")
	ahead := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for name, content := range map[string]string{
		"nothing":             "",
		"null":                "null",
		"a text that is long": `{"closed": true, "reason": "` + strings.Repeat(`\u0001x`, 100_000) + `"}`,
		"too many networks":   `{"closed": true, "passes": [` + strings.Repeat(`"0.0.0.0/0",`, 80_000) + `"::/0"]}`,
		"too long":            `{"closed": true}` + strings.Repeat(" ", 1<<20),
		"one in the future":   `{"closed": true, "looked": "` + ahead + `"}`,
	} {
		write(t, file, content)
		g := gateIn(dir)
		if data, err := json.Marshal(g); err != nil || len(data) > 4<<10 || g.Runs(time.Now()) {
			t.Errorf("%s: %.200s, %v", name, data, err)
		}
	}
	if err := errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)); err != nil {
		t.Fatal(err)
	}
	if g := gateIn(dir); g != nil {
		t.Errorf("a FIFO: %+v", g)
	}
}

// FuzzGate: whatever stands in the place of the gate's status, it can be shown, and little of it is kept.
func FuzzGate(f *testing.F) {
	f.Add(`{"closed": true, "since": "2026-11-26T12:00:00Z", "looked": "2026-11-26T12:00:00Z", "reason": "held in drain",
		"port": 8140, "passes": ["127.0.0.0/8", "fe80::/10"], "refused_connections": 18446744073709551615, "error": "x"}`)
	f.Add(`{"passes": [""], "reason": "\u0000\u2028", "since": "9999-12-31T23:59:59-23:59"}`)
	f.Add("null")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content string) {
		write(t, filepath.Join(dir, "gate.json"), content)
		g := gateIn(dir)
		if g == nil {
			return
		}
		data, err := json.Marshal(g)
		if kept := 500 + 2*6*1000 + len(g.Passes)*50; err != nil || len(data) > kept {
			t.Errorf("%d bytes are shown, %v", len(data), err)
		}
	})
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
