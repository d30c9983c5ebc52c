//go:build linux

package bench_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// The test binary is also the bare server that pmcheck is compared with: it runs as one if
// this environment variable has an address.
const serveVariable = "BENCH_SERVE"

func TestMain(m *testing.M) {
	if address := os.Getenv(serveVariable); address != "" {
		fmt.Fprintln(os.Stderr, serveBare(address))
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
func serveBare(address string) error {
	return http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, answer)
	}))
}
