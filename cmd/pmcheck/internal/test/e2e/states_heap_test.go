//go:build linux

package e2e_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// keepFunction is a function of Puppet's language that keeps some MiB of each catalog for
// ever, in its JRuby.
const keepFunction = `Puppet::Functions.create_function(:keep) do
  def keep(mib)
    ($kept ||= []) << ('x' * (mib * 1024 * 1024))
    nil
  end
end
`

// testHeap: a module that keeps references fills the heap, until the JVM does little more
// than collect garbage. Without agents it then only is full. The server is left like this.
func testHeap(t *testing.T, s *lab.PuppetServer, seen *stateTable) {
	warns := lab.StartSite(t, lab.SiteOptions{Server: s, YAML: "heap: {interval: 1s}\n"})
	ejects := lab.NewSite(t, lab.SiteOptions{Share: warns, YAML: "checks: {heap: eject}\nheap: {interval: 1s}\n"})
	ejects.Start()
	warns.WaitFinding(check.CheckHeap, check.OK, 20*time.Second)
	measured(t, "memory of a healthy JVM", lab.Finding(warns.Status(), check.CheckHeap).Value)
	dir := filepath.Join(s.Dir, "code/environments/production/modules/leak/lib/puppet/functions")
	lab.Write(t, filepath.Join(dir, "keep.rb"), keepFunction)

	s.SetSitePP("keep(4)\n")
	stop := loopAgents(t, s)
	leaked := warns.WaitStatus(2*time.Minute, func(status lab.Status) error {
		f := lab.Finding(status, check.CheckHeap)
		// Of what is in use, much may be garbage; the check asks for 90%.
		if f.JVM == nil || f.JVM.OldAfterGC < f.JVM.OldMax*92/100 {
			return fmt.Errorf("the old generation is not full yet: %s", f.Value)
		}
		return nil
	})
	s.SetSitePP("") // the JVM would abort when nothing is left
	measured(t, "time until collections left 92% of the old generation in use", leaked)
	took := ejects.WaitRefusal("unhealthy: gc-thrashing", time.Minute)
	warns.WaitStatus(time.Minute, func(status lab.Status) error {
		f := lab.Finding(status, check.CheckHeap)
		if said := curl(s); f.Reason != check.GCThrashing || said != running {
			return fmt.Errorf("%s (%s), and Puppet's own status is %s", f.Reason, f.Value, said)
		}
		return nil
	})
	seen.add("a module keeps 4 MiB of each catalog, the heap is full (`checks: {heap: eject}`, every second)",
		refuses("unhealthy: gc-thrashing"), took, running)
	measured(t, "a leak while agents run, in words", lab.Finding(warns.Status(), check.CheckHeap).Detail)

	warns.WaitStatus(time.Minute, func(status lab.Status) error {
		f := lab.Finding(status, check.CheckHeap)
		if f.JVM == nil || f.JVM.OldAfterGC == 0 {
			return fmt.Errorf("what collections leave is not known: %s", f.Value)
		}
		return nil
	})
	stop()
	took = warns.WaitFinding(check.CheckHeap, check.HeapFull, time.Minute)
	seen.add("the same, no agent runs (`heap` warns)", serves(string(check.HeapFull)), took, curl(s))
	measured(t, "a leak without agents, in words", lab.Finding(warns.Status(), check.CheckHeap).Detail)
}

// running is what Puppet's own status says of a server in any state it does not know.
const running = "200 `running`"

// loopAgents makes agents request catalogs, one after the other in each JRuby, until the
// returned function is called.
func loopAgents(t *testing.T, s *lab.PuppetServer) (stop func()) {
	var agents sync.WaitGroup
	end := make(chan struct{})
	for range jrubies {
		agents.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
					if code, _, err := s.Get(agentName, catalogPath(agentName)); err != nil || code != http.StatusOK {
						t.Logf("a catalog: %d, %v", code, err)
					}
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { close(end); agents.Wait() })
	t.Cleanup(stop)
	return stop
}
