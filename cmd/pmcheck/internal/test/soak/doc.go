// Package soak contains only tests. Balancers ask one pmcheck 500 times per second while an
// operator sets and lifts holds, certificates and CRLs are renewed, and the master is
// restarted. The test compares each answer with what was true when it was given, and fails
// if memory, goroutines or descriptors grow.
//
//	make soak SOAK=30m
//
// runs it for 30 minutes against a real Puppet Server, which is killed and started again
// eight times. It needs root; without SOAK, or PMCHECK_SOAK, it is skipped.
package soak
