// Package e2e contains only tests: pmcheck as a process, between a real Puppet
// Server and a real HAProxy.
//
// Each claim is asserted, and what was measured for it is logged in lines that
// begin with "measured:". The tests need root, Puppet Server, HAProxy and curl; go test -short skips them.
package e2e
