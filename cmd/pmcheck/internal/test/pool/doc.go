// Package pool contains only tests: a pool of two or three masters behind two balancers that
// is restarted, upgraded and rebooted while agents come all the time. None of
// their runs may fail. TestEverythingAtOnce draws what happens from a seed, which LAB_SEED replays.
//
// Each operation prints one row of a table: how many runs, how many of them
// failed, how long they took, how long the operation took. The short form is
// part of make test-all. The long form, PMCHECK_LONG=1 or make e2e, has every
// operation with at least 200 runs each, and beside it the check that pmcheck
// replaces. The tests need root, Puppet Server, Puppet, HAProxy and xinetd.
package pool
