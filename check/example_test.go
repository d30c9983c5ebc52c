package check_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// A list of checks has their settings, and makes them ready to run.
func ExampleList() {
	checks := check.All()
	settings := checks.Disk()
	settings.Paths = []string{os.TempDir()}
	checks = checks.With(settings)

	disk := checks.Scheduled(check.Host{})[check.CheckDisk]
	found := disk.Run(context.Background())
	fmt.Println(found.Check, disk.Interval)
	// Output: disk 15s
}

// A prober asks Puppet Server once, and a judge turns the results into a verdict.
func Example() {
	dir, err := os.MkdirTemp("", "puppet")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	master, err := checktest.NewMaster(dir, "puppet1.example.com", "127.0.0.1:0") // a stand-in
	if err != nil {
		panic(err)
	}
	defer master.Close()

	prober := &check.Prober{Client: puppetclient.Client{
		Address:     master.Address(),
		ServerName:  "puppet1.example.com",
		Credentials: &puppetclient.Credentials{Files: master.Files()},
		Timeout:     5 * time.Second,
	}}
	defer prober.Close()

	judge := check.Judge{MaxAge: 15 * time.Second}
	verdict := judge.Observe(prober.Probe(context.Background()))
	fmt.Println(verdict.Health, verdict.Reason)
	// Output: healthy ok
}
