// Package check finds out whether a Puppet Server is fit to serve agents.
//
// A [Prober] sends one request to one master over mutual TLS and returns a [Result]. A [Judge]
// turns the results of successive probes into a [Verdict], which expires unless it is renewed.
// Puppet Server reports that it is running while it cannot serve: with one JRuby of eight started,
// with all of them stuck, with a full disk. [All] lists the probe and the checks that find this
// out; [Fold] combines the verdict on the probes with the [Finding] of each.
//
// # Why the probe behaves like an agent
//
// Puppet Server's trust in its agents is part of its health: with an expired
// revocation list it refuses every agent in the TLS handshake, yet it answers an
// anonymous client that it is running. So a probe offers the host's own certificate,
// unless its files show that the master would refuse it. It verifies the master as an
// agent would, and makes a whole request, since TLS 1.3 reports a refused client
// certificate only then. Package puppetclient implements this.
package check
