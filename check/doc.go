// Package check finds out whether a Puppet Server is fit to be given agents.
//
// A [Prober] asks one master one question over mutual TLS and returns a [Result]:
// what was asked, what came back, and, where something is wrong, a [Fault] that
// names the side at fault. A [Judge] turns the results of successive probes into a
// [Verdict]. A verdict carries the time until which it may be believed: a fact that
// is not renewed expires.
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
// # Beside the probe
//
// Puppet Server says that it is running while it cannot serve: with one JRuby of
// eight started, with all of them stuck, with a full disk. [All] lists the checks
// beside the probe. Each returns a [Finding]; [Fold] concludes from the verdict on
// the probes and the findings, by their severity. What a check cannot find out is
// unknown and never held against the master.
//
// The configuration, the daemon, the command line, the page and the metrics read
// that list and know no [Check] by name, but for the three that are special to
// them: jruby (a master that starts is not ready before its pool is), unit (which
// systemd tells) and puppetdb (a service with a path of its own).
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
// code.go is a small one to begin with. The rest is documentation, and tests fail
// until it is there: packaging/pmcheck.yaml shows the settings, pmcheck.yaml(5)
// lists them, and pmcheck(8) lists the reasons.
//
// # Why the probe is so particular
//
// Puppet Server's trust in its agents is part of its health: with an expired
// revocation list it refuses every agent in the TLS handshake, yet tells an
// anonymous client that it is running. So a probe always offers the host's own
// certificate, verifies the master as an agent would, and makes a whole request,
// since TLS 1.3 reports a refused client certificate only then. Package
// puppetclient does that part.
//
// The package knows nothing of balancers, HTTP answers or metrics.
package check
