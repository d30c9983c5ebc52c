//go:build linux

package budget_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// BenchmarkRenewal simulates 1,000 masters of one pool that renew their slots, each over a
// connection of its own with the handshake, as daemons do. It measures how long the database
// takes for one renewal of each, and prints the load of one renewal every minute.
func BenchmarkRenewal(b *testing.B) {
	const masters, certificates, parallel = 1000, 20, 2
	db := startDatabase(b, certificates)
	db.SQL("pmcheck", fmt.Sprintf("insert into pmcheck.slot select 'puppet', 'm' || i, now(), now(), now(), "+
		"'kernel', 'alice', false, false, 1 from generate_series(1, %d) i", masters-certificates))
	for b.Loop() {
		var next, failed atomic.Int64
		var group sync.WaitGroup
		cpu, began := db.CPU(), time.Now()
		for range parallel {
			group.Go(func() {
				for i := next.Add(1); i <= masters; i = next.Add(1) {
					if _, err := client(db, name(int(i)%certificates+1)).Renew(b.Context(), "kernel"); err != nil {
						failed.Add(1)
					}
				}
			})
		}
		group.Wait()
		took, used := time.Since(began), db.CPU()-cpu
		b.ReportMetric(float64(masters)/took.Seconds(), "renewals/s")
		b.ReportMetric(used.Seconds()*1000/masters, "cpu-ms/renewal")
		text := fmt.Sprintf("A renewal costs the database %.1f ms of CPU with the TLS handshake and the list of %d masters "+
			"that it returns. 1,000 masters that ask every minute are %.0f transactions a second and %.0f%% of one CPU. "+
			"At full load %.0f a second were answered on this machine; %d of %d failed.\n",
			used.Seconds()*1000/masters, masters, masters/60.0, used.Seconds()/60*100, masters/took.Seconds(),
			failed.Load(), masters)
		b.Log(text)
		if err := lab.WriteProof("budget-load", text); err != nil {
			b.Fatal(err)
		}
	}
}
