// Package check finds out whether a Puppet Server is fit to be given agents.
//
// A [Prober] asks one master one question over mutual TLS and returns a
// [Result]: what was asked, what came back, and, where something is wrong,
// a [Fault] that names the side at fault. A [Judge] turns the results of
// successive probes into a [Verdict]; a verdict carries the time until which
// it may be believed, because a fact that nobody has renewed is no fact.
//
//	prober := &check.Prober{Client: check.Client{
//		Address:    "localhost:8140",
//		ServerName: "puppet1.example.com",
//		Credentials: &check.Credentials{Files: check.Files{
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
// Puppet Server says that it is running while it cannot serve: with one JRuby
// of eight started, with all of them stuck, with a full disk. [JRuby], [Unit],
// [Disk] and the other checks each return a [Finding]; [Fold] concludes from
// the verdict on the probes and the findings, by their severity. What a check
// cannot find out is unknown and never held against the master. [Explain] says
// of each what it asks, why, and what to do.
//
// # A check of one's own
//
// To add one, say what it is called in names.go, why it would complain in
// fault.go and reasons.go, what to do then in hint.go, and what it asks in
// explanations.go; write it as a type with a method Check, as [Disk] is. Then
// give it settings in the daemon's config/checks.go and packaging/pmcheck.yaml,
// and a line each in its agent/runner.go and agent/findings.go.
//
// # Why the probe is so particular
//
// Puppet Server's trust in its agents is part of its health: with an expired
// revocation list it refuses every agent in the TLS handshake, yet tells an
// anonymous client that it is running. So a probe always offers the host's
// own certificate, verifies the master as an agent would, and makes a whole
// request, since TLS 1.3 reports a refused client certificate only then.
//
// The package knows nothing of balancers, HTTP answers or metrics.
package check
