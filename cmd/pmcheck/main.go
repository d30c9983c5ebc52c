// Puppet's programs, with OpenSSL, Java and Ruby, read certificates with a negative serial number.
//go:debug x509negativeserial=1

// Command pmcheck tells a load balancer whether the Puppet Server on this host should
// get new agents.
package main

import (
	"os"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
