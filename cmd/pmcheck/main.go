// Command pmcheck tells a load balancer whether the Puppet Server on this
// host is fit to be given agents.
package main

import "os"

func main() {
	os.Exit(run(os.Args, os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
