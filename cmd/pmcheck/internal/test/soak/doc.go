// Package soak holds tests only: one pmcheck that is asked 500 times per second
// while operators toggle it, certificates and CRLs are renewed and the master is
// restarted. Each answer is held against what was true while it was given, and
// memory, goroutines and descriptors against a straight line.
//
//	make soak SOAK=30m
//
// runs it for so long against a real Puppet Server, killed and started again eight
// times. go test alone is the short form: a minute against the stand-in master,
// which comes back at once, so that there is room for as many restarts. Both print
// "measured:" lines and a table. They need root; go test -short skips them.
package soak
