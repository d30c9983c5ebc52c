package client

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// FuzzDecode: whatever a daemon answers, it is refused, or what is kept of it can be shown by root.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"certname": "puppet1", "services": [{"name": "server", "mode": "drain",
		"answer": {"code": 200, "body": "x"}, "checks": [{"name": "jruby", "pool": {"size": 3, "lock": "\u001b[2J"}}],
		"departure": {"leaving": "turn", "blockers": [{"kind": "only_server", "text": "a\nb"}]}}],
		"probe": {"duration_seconds": -1e300, "own_connections": ["[::1%x]:1"]},
		"balancers": [{"address": "fe80::1%x", "view": {"state": "UP"}, "interval_seconds": 1e300}],
		"budget": {"slots": [{"master": "m"}]}, "gate": {"passes": ["::/0"]}, "holds": [{"holder": "x"}]}`))
	f.Add([]byte(`{"services":null,"budget":{},"started":"9999-12-31T23:59:59-23:59"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var s status.Status
		if decode(bytes.NewReader(body), &s) != nil {
			return
		}
		status.Printable(&s)
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var kept any
		if err := json.Unmarshal(data, &kept); err != nil {
			t.Fatal(err)
		}
		assertPrintable(t, kept)
		for _, v := range s.Services {
			_, _ = s.MayRestart(v)
			_ = s.State(v.Name)
		}
		for _, b := range s.Balancers {
			b.Missing(time.Now())
			status.Seconds(b.Interval)
		}
		s.Gate.Runs(s.Time)
	})
}

func assertPrintable(t *testing.T, kept any) {
	t.Helper()
	switch v := kept.(type) {
	case string:
		if len(v) > 1000 || strings.ContainsFunc(v, unicode.IsControl) {
			t.Errorf("a text of %d bytes is kept: %.200q", len(v), v)
		}
	case []any:
		for _, item := range v {
			assertPrintable(t, item)
		}
	case map[string]any:
		for _, item := range v {
			assertPrintable(t, item)
		}
	}
}
