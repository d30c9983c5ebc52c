package systemd

import (
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// connectJournal returns the two ends of a connection like that between a service and journald.
// They are closed when the test ends.
func connectJournal(t *testing.T) (service int, journald net.Conn) {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(pair[0]) })
	other := os.NewFile(uintptr(pair[1]), "journald")
	defer other.Close()
	if journald, err = net.FileConn(other); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { journald.Close() })
	return pair[0], journald
}

func TestLinesInTheJournalBeginWithTheirPriority(t *testing.T) {
	service, journald := connectJournal(t)
	log := slog.New(newJournalHandler(service, slog.LevelDebug))
	log.Debug("probed", "took", time.Second)
	log.Info("hold set", "reason", "two words")
	log.Log(t.Context(), slog.LevelInfo+1, "between")
	log.With("service", "server").WithGroup("last").Warn("two\nlines", "time", "kept", "level", "too")
	log.Error("level=DEBUG")
	log.Log(t.Context(), slog.LevelError+4, "worse")
	syscall.Shutdown(service, syscall.SHUT_WR)
	got, err := io.ReadAll(journald)
	if err != nil {
		t.Fatal(err)
	}
	want := `<7>level=DEBUG msg=probed took=1s
<6>level=INFO msg="hold set" reason="two words"
<6>level=INFO+1 msg=between
<4>level=WARN msg="two\nlines" service=server last.time=kept last.level=too
<3>level=ERROR msg="level=DEBUG"
<3>level=ERROR+4 msg=worse
`
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestLevelOfTheJournalIsTheLeastThatIsWritten(t *testing.T) {
	log := slog.New(newJournalHandler(-1, slog.LevelWarn))
	if log.Enabled(t.Context(), slog.LevelInfo) || !log.Enabled(t.Context(), slog.LevelWarn) {
		t.Error("level info is written, or level warn is not")
	}
}

// The test hangs if a caller waits for a journal that reads nothing.
func TestStalledJournalDelaysNoCaller(t *testing.T) {
	service, journald := connectJournal(t)
	log := slog.New(newJournalHandler(service, slog.LevelInfo))
	long := strings.Repeat("x", 1000)
	for range 10000 { // more than the socket takes
		log.Info(long)
	}
	syscall.Shutdown(service, syscall.SHUT_WR)
	got, err := io.ReadAll(journald)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(got), "\n")
	whole := "<6>level=INFO msg=" + long + "\n"
	for i, line := range lines[:len(lines)-1] {
		if line != whole {
			t.Fatalf("line %d is %q, want it whole", i, line)
		}
	}
	if written := len(lines) - 1; written == 0 || written == 10000 {
		t.Errorf("%d lines were written, want the first ones only", written)
	}
}

// A write to os.Stderr ends the process in this case.
func TestJournalThatIsGoneEndsNothing(t *testing.T) {
	service, journald := connectJournal(t)
	journald.Close()
	if _, err := (journalWriter{service}).Write([]byte("level=INFO msg=x\n")); err == nil {
		t.Error("no error")
	}
}
