package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
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
			_, err := api.Client{URL: server.URL}.Status(t.Context())
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
	if _, err := (api.Client{URL: server.URL}).Status(ctx); !errors.Is(err, api.ErrNoDaemon) {
		t.Errorf("%v, want ErrNoDaemon", err)
	}
}
