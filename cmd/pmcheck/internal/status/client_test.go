package status_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// A refusal of pmcheck names the setting that would allow it. Other bodies are not
// repeated to a terminal.
func TestRefusalIsQuotedIfPrintable(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"refusal of pmcheck", "not allowed: see status_allow\n", " answers 403 Forbidden: not allowed: see status_allow"},
		{"empty body", "", " answers 403 Forbidden"},
		{"terminal escape", "\x1b[2J\n", " answers 403 Forbidden"},
		{"long body", strings.Repeat("x", 1000), " answers 403 Forbidden: " + strings.Repeat("x", 200)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, tt.body, http.StatusForbidden)
			}))
			defer server.Close()
			_, err := status.Client{URL: server.URL}.Status(t.Context())
			if want := server.URL + tt.want; err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

// A daemon that stops in the middle of its answer is one that does not answer.
func TestADaemonThatHangsInItsAnswerDoesNotAnswer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	hangs := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"version": "1`)
		_ = http.NewResponseController(w).Flush()
		<-hangs
	}))
	defer server.Close()
	defer close(hangs)
	if _, err := (status.Client{URL: server.URL}).Status(ctx); !errors.Is(err, status.ErrNoDaemon) {
		t.Errorf("%v, want ErrNoDaemon", err)
	}
}

// TestHostileStatusIsRefusedBeforeItIsDecoded: a value takes up to a hundred times as much memory as
// in JSON.
func TestHostileStatusIsRefusedBeforeItIsDecoded(t *testing.T) {
	for name, item := range map[string]string{
		"objects": "{},", "nulls": "null,", "texts": `"",`, "deep": `{"mode":{`, "holds": `{"holder":""},`,
	} {
		body := `{"services":[` + strings.Repeat(item, (16<<20)/len(item))
		master := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, body)
		}))
		defer master.Close()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := status.Client{URL: master.URL}.Status(t.Context())
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || used > 32 {
			t.Errorf("%s: %v, after %d MiB; want an error and at most 32", name, err, used)
		}
	}
}
