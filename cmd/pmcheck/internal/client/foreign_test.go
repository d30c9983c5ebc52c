package client_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

const hostile = `{
  "version": "1\u001b[2J", "certname": "m1\nroot# rm -rf /",
  "services": [
    {"name": "$(touch x)", "mode": "drain"},
    {"name": "server", "mode": "drain", "verdict": {"detail": "a\u202eb\u200fc"},
     "answer": {"code": -503, "body": "\u009b31mdrain"}},
    {"name": "../ca"}, {"name": ""}, {"name": "ca\u001b[0m"}
  ],
  "holds": [{"holder": "%[1]s", "mode": "maint", "error": "\u001b]0;title\u0007", "path": "/a\rb"}],
  "balancers": [
    {"address": "fe80::1%%\u001b[2J", "node": "lb1\u001b[5m", "interval_seconds": 1e300, "health_checks": -4,
     "view": {"state": "UP\u0000", "weight": -1, "sessions": 9223372036854775807}}
  ],
  "probe": {"duration_seconds": -1, "own_connections": ["[fe80::1%%\u001b[2J]:80"]},
  "config": {"error": "one\ntwo\u001b[2J\n"},
  "warnings": ["%[1]s", "w\tx"]
}`

func TestStatusFromADaemonIsPrintable(t *testing.T) {
	long := strings.Repeat("x", 10<<10)
	st, err := ask(t, fmt.Sprintf(hostile, long))
	must(t, err)
	if len(st.Services) != 1 || st.Services[0].Name != "server" {
		t.Errorf("the services are %+v", st.Services)
	}
	for _, tt := range []struct{ name, got, want string }{
		{"certname", st.Certname, "m1; root# rm -rf /"},
		{"detail", st.Services[0].Verdict.Detail, "abc"},
		{"body", st.Services[0].Answer.Body, "31mdrain"},
		{"path", st.Holds[0].Path, "/a b"},
		{"error", st.Holds[0].Error, "]0;title"},
		{"node", st.Balancers[0].Label(), "lb1[5m"},
		{"source", st.Balancers[0].Source.String(), "fe80::1"},
		{"connection", st.Probe.Connections[0].String(), "[fe80::1]:80"},
		{"config", st.Config.Error, "one; two[2J"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s is %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	b := st.Balancers[0]
	if status.Seconds(b.Interval) < 0 || b.Checks != 0 || b.View.Weight != 0 {
		t.Errorf("numbers are negative: %+v, %+v", b, b.View)
	}
	if st.Probe.Took != 0 || st.Services[0].Answer.Code != 0 {
		t.Errorf("took %g, code %d", st.Probe.Took, st.Services[0].Answer.Code)
	}
	if n := len(st.Holds[0].Holder); n != 1000 {
		t.Errorf("a name has %d bytes", n)
	}
}

func TestErrorsOfTheClientArePrintable(t *testing.T) {
	const ok = "HTTP/1.0 200 OK\r\n\r\n"
	for _, tt := range []struct{ name, answer, want string }{
		{"refusal of pmcheck", "HTTP/1.0 403 Forbidden\r\n\r\nx\n", " answers 403 Forbidden: see status_allow there"},
		{"status line", "HTTP/1.1 503 \x1b[2J\r\nContent-Length: 0\r\n\r\n", " answers 503 [2J"},
		{"header", "HTTP/1.1 200 OK\r\n\x1b[2J evil\r\n\r\n", ""},
		{"long header", "HTTP/1.0 200 OK\r\nX: " + strings.Repeat("x", 32<<10) + "\r\n\r\n{}", ""},
		{"not JSON", ok + "\x1b[2J", ""},
		{"an invalid time", ok + `{"time": "` + "\u202e" + `"}`, ""},
		{"a long text for a number", ok + `{"probe": {"count": "` + strings.Repeat("x", 10<<10) + `"}}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := answered(t.Context(), func(w http.ResponseWriter, _ *http.Request) {
				conn, _, _ := w.(http.Hijacker).Hijack()
				io.WriteString(conn, tt.answer)
				conn.Close()
			})
			if err == nil {
				t.Fatal("no error")
			}
			said := err.Error()
			if !strings.HasSuffix(said, tt.want) || len(said) > 1200 ||
				strings.ContainsFunc(said, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("the error is %q", said)
			}
		})
	}
}
