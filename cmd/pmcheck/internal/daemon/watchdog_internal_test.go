package daemon

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestTheWatchdogIsFedOnlyWhileTheLoopTurns(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "3000")
	pinged := func(within time.Duration) bool {
		systemd.SetReadDeadline(time.Now().Add(within))
		text := make([]byte, 64)
		n, err := systemd.Read(text)
		return err == nil && string(text[:n]) == "WATCHDOG=1"
	}

	c := config.Default()
	c.HoldsIn = t.TempDir()
	d := New(c, "test.yaml", "test", slog.New(slog.DiscardHandler))
	go d.feedWatchdog(t.Context())
	if pinged(100 * time.Millisecond) {
		t.Error("a ping before the loop runs")
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- d.monitor.Run(ctx) }()
	if !pinged(10 * time.Second) {
		t.Error("no ping while the loop runs")
	}
	stop()
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	for pinged(50 * time.Millisecond) { // for turns before the stop
	}
	if pinged(100 * time.Millisecond) {
		t.Error("a ping after the loop has stopped")
	}
}
