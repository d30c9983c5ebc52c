package check_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"syscall"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// A probe asks a master over mutual TLS, here one of package checktest.
func ExampleProber() {
	dir, err := os.MkdirTemp("", "master")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	master, err := checktest.NewMaster(dir, "puppet1.example.com", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer master.Close()

	prober := &check.Prober{Client: puppetclient.Client{
		Address:     master.Address(),
		ServerName:  "puppet1.example.com",
		Credentials: &puppetclient.Credentials{Files: master.Files()},
	}}
	defer prober.Close()
	result := prober.Probe(context.Background())
	fmt.Println(result.Status, result.TLS.Version, result.TLS.Server.Subject)

	master.Set(checktest.Stopped)
	fault := prober.Probe(context.Background()).Fault
	fmt.Printf("%s, %s: %s\n", fault.Health(), fault.Reason.Side(), fault.Reason)
	// Output:
	// 200 TLS 1.3 puppet1.example.com
	// unhealthy, network: refused
}

// A judge asks for a second probe before it calls a healthy master unhealthy. One good result
// makes it healthy again.
func ExampleJudge() {
	judge := check.Judge{MaxAge: 6 * time.Second}
	refused := check.Result{Fault: &check.Fault{Reason: check.Refused, Err: syscall.ECONNREFUSED}}
	var last check.Verdict
	for _, result := range []check.Result{{}, refused, refused, {}} {
		result.Asked = time.Now()
		verdict, confirm := judge.Observe(result)
		fmt.Println(verdict.Health, verdict.Reason, confirm)
		last = verdict
	}
	late := last.At(time.Now().Add(time.Minute))
	fmt.Println(late.Health, late.Reason)
	// Output:
	// healthy ok false
	// healthy ok true
	// unhealthy refused false
	// healthy ok false
	// unknown stale
}

// A finding changes the verdict only if its severity is eject, as that of the full disk
// here. The severity of the CRL or certificate that expires soon is warn.
func ExampleFold() {
	probe := check.Verdict{Health: check.Healthy, Reason: check.OK}
	findings := []check.Finding{
		{Check: check.CheckExpiry, Severity: check.Warn, State: check.StateWarn, Reason: check.ExpiresSoon},
		{Check: check.CheckDisk, Severity: check.Eject, State: check.StateBad, Health: check.Unhealthy,
			Reason: check.DiskFull},
	}
	verdict := check.Fold(probe, findings)
	fmt.Println(verdict.Health, verdict.Reason)
	fmt.Println(verdict.Reason.Hint())
	// Output:
	// unhealthy disk-full
	// make room: df -h and df -i of the directory; if the file system is read-only, see dmesg
}

// Some checks only look at the result of a probe, like this one.
func ExampleList_Lookup() {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	result := check.Result{
		Own:  &check.Certificate{Subject: "puppet1.example.com", NotAfter: now.AddDate(2, 0, 0)},
		CRLs: []check.CRL{{Issuer: "Puppet CA", Expires: now.AddDate(0, 0, 12)}},
	}
	expiry, _ := check.All().Lookup(check.CheckExpiry)
	finding := expiry.Observe(result, now)
	fmt.Println(finding.State, finding.Reason)
	fmt.Println(finding.Value)
	// Output:
	// warn expires-soon
	// 2026-12-03T00:00:00Z, in 12d: the CRL of Puppet CA
}

// The checks with their defaults are a list. A configuration is the same list with
// other severities and settings.
func ExampleAll() {
	checks := check.All()
	checks.SetSeverity(check.CheckDisk, check.Off)
	check.Settings[check.PuppetDBSettings](checks).Address = "puppetdb.example.com:8081"

	for _, c := range checks {
		if c.Schedule == nil || c.Severity == check.Off {
			continue
		}
		if scheduled := c.Schedule(check.Host{Timeout: time.Second}); scheduled != nil {
			fmt.Println(c.Name, scheduled.Interval)
		}
	}
	// Output:
	// jruby 5s
	// puppetdb 15s
}
