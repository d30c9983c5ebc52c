//go:build linux

package bench_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A fault is something that happens to a master. begin calls began at the moment when it
// happens, and returns a function that mends it, after which the master is ready.
type fault struct {
	name  string
	begin func(b *testing.B, s *lab.PuppetServer, began func()) (mend func())
}

// allFaults returns all faults. With the second, an agent is connected: a master without any is
// asked less often. The one that is mended by a restart comes last: after the last
// round nothing is mended.
func allFaults() []fault {
	return []fault{
		{"every JRuby stuck", stick},
		{"stopped (SIGSTOP)", func(b *testing.B, s *lab.PuppetServer, began func()) func() {
			agent, err := net.Dial("tcp", s.Address())
			if err != nil {
				b.Fatal(err)
			}
			began()
			s.Signal(syscall.SIGSTOP)
			return func() { s.Signal(syscall.SIGCONT); agent.Close() }
		}},
		{"killed (SIGKILL)", func(_ *testing.B, s *lab.PuppetServer, began func()) func() {
			began()
			s.Kill()
			return func() { s.Start(); s.WaitReady(3 * time.Minute) }
		}},
	}
}

// stick makes a compile wait in generate(), in the only JRuby, and then sends two requests
// that wait for the JRuby.
func stick(b *testing.B, s *lab.PuppetServer, began func()) (mend func()) {
	b.Helper()
	const agent = "agent.lab.example"
	s.IssueCert(agent, nil)
	script := filepath.Join(s.Dir, "wait.sh")
	block, inside := filepath.Join(s.Dir, "block"), filepath.Join(s.Dir, "run/inside")
	text := fmt.Sprintf("touch %s\nwhile [ -e %s ]; do sleep 0.2; done\nrm %s\n", inside, block, inside)
	for path, content := range map[string]string{block: "", script: text} {
		lab.Write(b, path, content)
	}
	s.SetSitePP(fmt.Sprintf("generate('/bin/sh', '%s')\n", script))
	var requests sync.WaitGroup
	ask := func(path string) {
		requests.Go(func() {
			if code, _, err := s.Get(agent, path); err != nil {
				b.Errorf("%s: %d, %v", path, code, err)
			}
		})
	}
	ask("/puppet/v3/catalog/" + agent + "?environment=production")
	lab.WaitFor(b, time.Minute, 10*time.Millisecond, func() error { _, err := os.Stat(inside); return err })
	began()
	ask("/puppet/v3/environments")
	ask("/puppet/v3/environments")
	return func() {
		s.SetSitePP("")
		if err := os.Remove(block); err != nil {
			b.Error(err)
		}
		requests.Wait()
	}
}
