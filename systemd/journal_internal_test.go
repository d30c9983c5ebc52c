package systemd

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/google/go-cmp/cmp"
)

func TestAttributesBecomeFieldsAndText(t *testing.T) {
	tests := []struct {
		name    string
		log     func(*slog.Logger)
		message string
		fields  map[string]string
	}{
		{
			"nothing but a message", func(l *slog.Logger) { l.Info("stopped") }, "stopped",
			map[string]string{"PMCHECK_EVENT": "stopped"},
		},
		{
			"attributes", func(l *slog.Logger) { l.Info("mode changed", "service", "server", "hold", "upgrade", "code", 503) },
			"mode changed service=server hold=upgrade code=503",
			map[string]string{
				"PMCHECK_EVENT":   "mode changed",
				"PMCHECK_SERVICE": "server",
				"PMCHECK_HOLD":    "upgrade",
				"PMCHECK_CODE":    "503",
			},
		},
		{
			"values that need quotes", func(l *slog.Logger) { l.Warn("w", "error", errors.New("two\nlines"), "empty", "") },
			`w error="two\nlines" empty=""`,
			map[string]string{"PMCHECK_EVENT": "w", "PMCHECK_ERROR": "two\nlines", "PMCHECK_EMPTY": ""},
		},
		{
			"groups", func(l *slog.Logger) {
				l.With("a", 1).WithGroup("tls").With("b", 2).Info("g", slog.Group("own", "not-after", 3), slog.Group("", "c", 4))
			},
			"g a=1 tls.b=2 tls.own.not-after=3 tls.c=4",
			map[string]string{
				"PMCHECK_EVENT":             "g",
				"PMCHECK_A":                 "1",
				"PMCHECK_TLS_B":             "2",
				"PMCHECK_TLS_OWN_NOT_AFTER": "3",
				"PMCHECK_TLS_C":             "4",
			},
		},
		{"a logger with attributes", func(l *slog.Logger) {
			with := l.With("a", 1)
			with.With("b", 2)
			with.Info("m", "c", 3)
		}, "m a=1 c=3", map[string]string{"PMCHECK_EVENT": "m", "PMCHECK_A": "1", "PMCHECK_C": "3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var last recorder
			tt.log(slog.New(recording{NewJournalHandler(slog.LevelDebug).(*journalHandler), &last}))
			if last.message != tt.message {
				t.Errorf("message %q, want %q", last.message, tt.message)
			}
			tt.fields["SYSLOG_IDENTIFIER"] = "pmcheck"
			if diff := cmp.Diff(tt.fields, last.fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

// A stalled journal delays no caller for longer than journalTimeout, and later entries
// are written.
func TestStalledJournalDelaysNoCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewJournalHandler(slog.LevelInfo).(*journalHandler)
		var sent []string
		goOn := make(chan struct{})
		h.send = func(message string, _ journal.Priority, _ map[string]string) error {
			<-goOn
			sent = append(sent, message)
			return nil
		}
		log := slog.New(h)
		began := time.Now()
		log.Info("stuck")
		log.With("a", 1).Info("lost")
		if got := time.Since(began); got != 2*journalTimeout {
			t.Errorf("two entries took %s, want %s", got, 2*journalTimeout)
		}
		close(goOn)
		synctest.Wait()
		log.Info("written")
		synctest.Wait()
		if diff := cmp.Diff([]string{"stuck", "written"}, sent); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
	})
}

// recording keeps the entry instead of sending it.
type recording struct {
	*journalHandler
	last *recorder
}

type recorder struct {
	message string
	fields  map[string]string
}

func (r recording) Handle(_ context.Context, record slog.Record) error {
	r.last.message, r.last.fields = r.entry(record)
	return nil
}

func (r recording) WithAttrs(attrs []slog.Attr) slog.Handler {
	return recording{r.journalHandler.WithAttrs(attrs).(*journalHandler), r.last}
}

func (r recording) WithGroup(name string) slog.Handler {
	return recording{r.journalHandler.WithGroup(name).(*journalHandler), r.last}
}

func TestLevelsBecomePriorities(t *testing.T) {
	for level, want := range map[slog.Level]journal.Priority{
		slog.LevelDebug: journal.PriDebug, slog.LevelInfo: journal.PriInfo, slog.LevelInfo + 1: journal.PriInfo,
		slog.LevelWarn: journal.PriWarning, slog.LevelError: journal.PriErr, slog.LevelError + 4: journal.PriErr,
	} {
		if got := priority(level); got != want {
			t.Errorf("%v has priority %d, want %d", level, got, want)
		}
	}
}
