// Package check finds out whether a Puppet Server is fit to serve agents.
//
// A [Prober] sends one request to one master over mutual TLS and returns a [Result]:
// what was asked, what was answered, and, if something is wrong, a [Fault] that
// names the side at fault. A [Judge] turns the results of successive probes into a
// [Verdict]. A verdict contains the time until which it is valid: a fact that is not
// renewed expires.
//
//	prober := &check.Prober{Client: puppetclient.Client{
//		Address:    "localhost:8140",
//		ServerName: "puppet1.example.com",
//		Credentials: &puppetclient.Credentials{Files: puppetclient.Files{
//			Certificate: "/etc/puppetlabs/puppet/ssl/certs/puppet1.example.com.pem",
//			Key:         "/etc/puppetlabs/puppet/ssl/private_keys/puppet1.example.com.pem",
//			CA:          "/etc/puppetlabs/puppet/ssl/certs/ca.pem",
//			CRL:         "/etc/puppetlabs/puppet/ssl/crl.pem",
//		}},
//	}}
//	defer prober.Close()
//	result := prober.Probe(ctx)
//	if result.Fault != nil {
//		log.Print(result.Fault)
//	}
//
// # Other checks
//
// Puppet Server reports that it is running while it cannot serve: with one JRuby of
// eight started, with all of them stuck, with a full disk. [All] lists the probe and
// the checks that find this out. Each of them returns a [Finding]; [Fold] combines
// the verdict on the probes with the findings, by their severity. What a check cannot
// find out is unknown and never counts against the master.
//
// The configuration, the daemon, the command line, the page and the metrics read
// that list and know no [Check] by name, except three: jruby (a master that starts is
// not ready before its pool is), unit (systemd reports its state) and puppetdb (a
// service with a path of its own).
//
// # Adding a check
//
// A new check is one file in this package and a line in [All]:
//
//  1. a constant with its name, and its reasons;
//  2. a struct of its settings, with keys and bounds in tags (see [Check]);
//  3. a function that returns its Check, with Schedule or Observe;
//  4. the code that looks, and returns a Finding.
//
// code.go is a small example. The rest is documentation, and tests fail until it is
// written: packaging/pmcheck.yaml shows the settings, pmcheck.yaml(5) lists them, and
// pmcheck(8) lists the reasons.
//
// # Why the probe behaves like an agent
//
// Puppet Server's trust in its agents is part of its health: with an expired
// revocation list it refuses every agent in the TLS handshake, yet it answers an
// anonymous client that it is running. So a probe offers the host's own certificate,
// unless its files show that the master would refuse it. It verifies the master as an
// agent would, and makes a whole request, since TLS 1.3 reports a refused client
// certificate only then. Package puppetclient implements this.
//
// The package knows nothing of balancers, HTTP answers or metrics.
package check
