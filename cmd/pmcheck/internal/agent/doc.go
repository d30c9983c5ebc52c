// Package agent is the daemon: it keeps a verdict on the local master and
// answers balancers from it.
//
// All facts meet in one goroutine, the loop: results of probes, changes of the
// holds, a new configuration. After each of them the loop publishes a new
// immutable state. A request reads the state of the moment and nothing else,
// so that no request can cause a probe, or wait for one.
package agent
