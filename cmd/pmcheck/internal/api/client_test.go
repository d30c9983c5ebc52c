package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

// A daemon that refuses says which setting would let one in; what is no such
// line is not repeated to a terminal.
func TestRefusedStatus(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"by pmcheck", "not allowed: see status_allow\n", " answers 403 Forbidden: not allowed: see status_allow"},
		{"without a word", "", " answers 403 Forbidden"},
		{"with an escape", "\x1b[2J\n", " answers 403 Forbidden"},
		{"at length", strings.Repeat("x", 1000), " answers 403 Forbidden: " + strings.Repeat("x", 200)},
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
