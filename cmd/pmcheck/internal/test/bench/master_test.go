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
	options := lab.PuppetServerOptions{JavaArgs: []string{}} // a JVM as shipped
	if short() {
		options.JavaArgs = nil // a JVM that starts faster
	}
	master := lab.StartPuppetServer(b, options)
	master.WaitReady(3 * time.Minute)
	b.Run("Balancers", func(b *testing.B) { benchmarkBalancers(b, master) })
	b.Run("Faults", func(b *testing.B) { benchmarkFaults(b, master) })
}
