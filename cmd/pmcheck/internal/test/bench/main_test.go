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

// The test binary is also the bare server that pmcheck is compared with: it runs as one if
// this environment variable has a kind and an address.
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

// tables holds the results of the benchmarks. They are printed after the lines that
// benchstat reads, since go test truncates a benchmark's log.
var tables []*table

// answer is the body that every server in these benchmarks sends.
const answer = "Puppet Server is running.\n"

// serveBare serves the answer with a minimal net/http server.
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
