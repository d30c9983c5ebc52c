package nagios_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/nagios"
)

// A daemon that cannot be asked because of the monitoring may well answer balancers.
func TestOnlyADaemonThatIsGoneIsCritical(t *testing.T) {
	forbids := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not allowed: see status_allow", http.StatusForbidden)
	}))
	defer forbids.Close()
	resets, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer resets.Close()
	go func() {
		for conn, err := resets.Accept(); err == nil; conn, err = resets.Accept() {
			_ = conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}()

	const gone = "CRITICAL - the daemon does not answer on "
	for _, tt := range []struct {
		name   string
		client api.Client
		want   string
	}{
		{"no socket", api.Client{Socket: "/nonexistent/pmcheck.sock"}, gone},
		{"connection refused", api.Client{URL: "http://127.0.0.1:1"}, gone},
		{"connection reset", api.Client{URL: "http://" + resets.Addr().String()}, gone},
		{"not in status_allow", api.Client{URL: forbids.URL}, "UNKNOWN - " + forbids.URL + " answers 403 Forbidden"},
		{"unknown host", api.Client{URL: "http://puppet1..example:9200"}, "UNKNOWN - "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			line := nagios.Ask(t.Context(), tt.client, "", nagios.Limits{}, nil)
			if want := "PUPPETSERVER " + tt.want; !strings.HasPrefix(line.String(), want) {
				t.Errorf("got  %s\nwant %s", line, want)
			}
		})
	}
}

func TestASocketThatMayNotBeReadIsUnknown(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read every socket")
	}
	socket := filepath.Join(t.TempDir(), "s")
	if l, err := net.Listen("unix", socket); err != nil {
		t.Fatal(err)
	} else {
		defer l.Close()
	}
	if err := os.Chmod(socket, 0); err != nil {
		t.Fatal(err)
	}
	line := nagios.Ask(t.Context(), api.Client{Socket: socket}, "", nagios.Limits{}, nil)
	if line.State != nagios.Unknown || !strings.Contains(line.String(), "permission denied") {
		t.Error(line)
	}
}

func TestMistakeInTheConfigurationIsAWarning(t *testing.T) {
	mistake := errors.New("pmcheck.yaml:3: unknown setting tsl\nanother")
	unreadable := fmt.Errorf("read configuration: %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission})
	for _, tt := range []struct {
		name     string
		mistake  error
		reloaded string // why the daemon has not reloaded
		want     string
	}{
		{"none", nil, "", "OK - running | "},
		{"a mistake", mistake, "", "WARNING - the configuration has a mistake: pmcheck.yaml:3: unknown setting tsl | "},
		{"the daemon knows", mistake, "typo", "WARNING - configuration not reloaded: typo | "},
		{"not readable for this user", unreadable, "", "OK - running | "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_ = text.WriteJSON(w, status(func(s *api.Status) { s.Config.Error = tt.reloaded }))
			}))
			defer server.Close()
			line := nagios.Ask(t.Context(), api.Client{URL: server.URL}, "", nagios.Limits{}, tt.mistake)
			if want := "PUPPETSERVER " + tt.want; !strings.HasPrefix(line.String(), want) {
				t.Errorf("got  %s\nwant %s", line, want)
			}
		})
	}
}

// What is asked ends with an error of its own when its time is over.
func TestNoResultInTimeIsUnknown(t *testing.T) {
	for range 20 { // both may be ready at once
		synctest.Test(t, func(t *testing.T) {
			line := nagios.Within(t.Context(), 10*time.Second, func(ctx context.Context) *nagios.Line {
				<-ctx.Done()
				return nagios.Failed(nagios.Critical, ctx.Err())
			})
			if want := "PUPPETSERVER UNKNOWN - no result within 10s"; line.String() != want {
				t.Errorf("got %s, want %s", line, want)
			}
		})
	}
}

func TestAnInterruptedPluginIsUnknown(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	line := nagios.Within(ctx, time.Minute, func(ctx context.Context) *nagios.Line {
		interrupt()
		<-ctx.Done()
		return nagios.Failed(nagios.Critical, ctx.Err())
	})
	if want := "PUPPETSERVER UNKNOWN - interrupted"; line.String() != want {
		t.Errorf("got %s, want %s", line, want)
	}
}

func TestCalledKnowsAPluginByItsFlag(t *testing.T) {
	for typed, want := range map[string]bool{
		"status --nagios --nope":       true,
		"status --nope -nagios":        true,
		"--nagios status":              true,
		"status --nagios=true":         true,
		"status -nagios=1 --nope":      true,
		"status --nagios=yes":          true,
		"status --nagios=false":        false,
		"status --nagiosx":             false,
		"stauts --nagios":              true,
		"status":                       false,
		"":                             false,
		"with-hold -- script --nagios": false,
	} {
		if got := nagios.Called(strings.Fields(typed)); got != want {
			t.Errorf("pmcheck %s: %v, want %v", typed, got, want)
		}
	}
}
