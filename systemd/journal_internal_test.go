package systemd

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// connectJournal returns the two ends of a connection like that between a service and journald.
// read ends the service's side, and returns what journald has got.
func connectJournal(t *testing.T) (service int, journald *os.File, read func() string) {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	journald = os.NewFile(uintptr(pair[1]), "journald")
	t.Cleanup(func() { syscall.Close(pair[0]); journald.Close() })
	return pair[0], journald, func() string {
		syscall.Shutdown(pair[0], syscall.SHUT_WR)
		got, err := io.ReadAll(journald)
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
}

func TestLinesInTheJournalBeginWithTheirPriority(t *testing.T) {
	service, _, read := connectJournal(t)
	log := slog.New(newJournalHandler(service, slog.LevelDebug))
	log.Debug("probed", "took", time.Second)
	log.Info("hold set", "reason", "two words")
	log.Log(t.Context(), slog.LevelInfo+1, "between")
	log.With("service", "server").WithGroup("last").Warn("two\nlines", "time", "kept", "level", "too")
	log.Error("level=DEBUG")
	slog.New(newJournalHandler(service, slog.LevelWarn)).Info("below the level")
	want := `<7>level=DEBUG msg=probed took=1s
<6>level=INFO msg="hold set" reason="two words"
<6>level=INFO+1 msg=between
<4>level=WARN msg="two\nlines" service=server last.time=kept last.level=too
<3>level=ERROR msg="level=DEBUG"
`
	if got := read(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// The test hangs if a caller waits for a journal that reads nothing.
func TestStalledJournalDelaysNoCaller(t *testing.T) {
	service, _, read := connectJournal(t)
	log := slog.New(newJournalHandler(service, slog.LevelInfo))
	line := "<6>level=INFO msg=" + strings.Repeat("x", 1000) + "\n"
	for range 10000 { // more than the socket takes
		log.Info(strings.Repeat("x", 1000))
	}
	got := read()
	if n := len(got) / len(line); n == 0 || n == 10000 || got != strings.Repeat(line, n) {
		t.Errorf("%d bytes were written, want the first lines only, and those whole", len(got))
	}
}

// A write to os.Stderr ends the process in this case.
func TestJournalThatIsGoneEndsNothing(t *testing.T) {
	service, journald, _ := connectJournal(t)
	journald.Close()
	if _, err := (journalWriter{socket: service}).Write([]byte("level=INFO msg=x\n")); err == nil {
		t.Error("no error")
	}
}
