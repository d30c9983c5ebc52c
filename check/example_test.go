package check_test

import (
	"context"
	"fmt"
	"log"
	"os"

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
	fmt.Println(result.Status, result.Server.Subject.CommonName)

	master.Set(checktest.Stopped)
	fmt.Println(prober.Probe(context.Background()).Fault.Reason)
	// Output:
	// 200 puppet1.example.com
	// refused
}
