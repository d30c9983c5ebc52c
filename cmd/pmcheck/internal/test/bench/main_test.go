//go:build linux

package bench_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// The test binary is also the server that pmcheck is compared to. This
// variable, set to one of the kinds and an address, makes it one.
const serveVariable = "BENCH_SERVE"

// The kinds of bare servers.
const (
	kindDefault = "default" // http.ListenAndServe
	kindTuned   = "tuned"   // with the socket options of pmcheck's listener
)

func TestMain(m *testing.M) {
	if kind, address, found := strings.Cut(os.Getenv(serveVariable), " "); found {
		fmt.Fprintln(os.Stderr, serveBare(kind, address))
		os.Exit(1)
	}
	lab.Enter()
	status := m.Run()
	var markdown []string
	for _, t := range tables {
		fmt.Println("\n" + t.String())
		markdown = append(markdown, t.markdown())
	}
	if status == 0 && len(tables) > 0 {
		if err := lab.WriteProof("bench", strings.Join(markdown, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

// tables are what the benchmarks found. They are printed behind the lines that
// benchstat reads, since a benchmark's own log is cut short.
var tables []*table

// answer is what every server in these benchmarks sends.
const answer = "Puppet Server is running.\n"

// serveBare is the least that net/http can do.
func serveBare(kind, address string) error {
	var config net.ListenConfig
	if kind == kindTuned {
		config = net.ListenConfig{KeepAlive: -1, Control: deferAccept}
	}
	l, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return err
	}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, answer)
	}))
}

func deferAccept(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 2)
	})
}
