// Package check finds out whether a Puppet Server is fit to serve agents.
//
// A [Prober] sends one request to one master over mutual TLS and returns a [Result]:
// what was asked, what was answered, and, if something is wrong, a [Fault]. A [Judge]
// turns the results of successive probes into a [Verdict]. A verdict contains the time
// until which it is valid: a fact that is not renewed expires.
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
// service with a path of its own). A new check is one file, of which code.go is a small
// example, and a line in [All]; tests fail until it is documented.
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
