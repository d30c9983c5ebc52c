//go:build linux

package bench_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// packagedAge is how long the daemon of the package runs before its memory is read.
const packagedAge = 10 * time.Minute

// BenchmarkPackaged measures the memory of the daemon as the package installs it and systemd
// runs it, before a real Puppet Server and with two balancers. Nobody asks for its page,
// metrics or weights.
func BenchmarkPackaged(b *testing.B) {
	host := lab.StartNetwork(b).Boot("m1")
	master := host.StartPuppetMaster(lab.PuppetMasterOptions{})
	deb := lab.DEB(b, "1.0.0") // while the master starts
	master.WaitReady(5 * time.Minute)
	site := lab.NewSite(b, lab.SiteOptions{Puppet: master})
	site.Install(deb)
	site.WaitServing(time.Minute)
	for range 2 {
		site.Balance("defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 30m\n    timeout server 30m\n" +
			"backend puppet\n" + readmeLines(b) + "    server m1 " + master.Address() + "\n")
	}
	sleep(b, packagedAge)

	pid := host.MustRun("systemctl", "show", "--property", "MainPID", "--value", "pmcheck.service")
	status := host.MustRun("cat", "/proc/"+pid+"/status")
	size, err := strconv.ParseFloat(host.MustRun("stat", "--format", "%s", "/usr/bin/pmcheck"), 64)
	if err != nil {
		b.Fatal(err)
	}
	anonymous := procStatus(b, status, "RssAnon")
	t := &table{title: fmt.Sprintf("Memory of the packaged daemon, %s after its start", packagedAge)}
	t.row("anonymous", mebibytes(anonymous))
	t.row("resident, most of it the program's own text", mebibytes(procStatus(b, status, "VmRSS")))
	t.row("size of the program", mebibytes(size))
	t.add(b)
	b.ReportMetric(anonymous/mebibyte, "MiB")
}

// procStatus returns the bytes in a line of /proc/PID/status.
func procStatus(b *testing.B, status, name string) float64 {
	b.Helper()
	_, rest, _ := strings.Cut("\n"+status, "\n"+name+":")
	line, _, _ := strings.Cut(rest, "\n")
	kibibytes, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(line, "kB")), 64)
	if err != nil {
		b.Fatalf("%s: %v", name, err)
	}
	return kibibytes * 1024
}
