//go:build linux

package bench_test

import (
	"os"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// BenchmarkMaster runs the benchmarks that need a real Puppet Server. They share one.
func BenchmarkMaster(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Fatal("starts Puppet Server as its own user: run as root")
	}
	master := lab.StartPuppetServer(b, lab.PuppetServerOptions{JavaArgs: []string{}}) // a JVM as shipped
	master.WaitReady(3 * time.Minute)
	b.Run("Balancers", func(b *testing.B) { benchmarkBalancers(b, master) })
	b.Run("Faults", func(b *testing.B) { benchmarkFaults(b, master) })
}
