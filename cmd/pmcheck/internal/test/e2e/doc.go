// Package e2e contains only tests: pmcheck as a process, between a real Puppet
// Server and a real HAProxy.
//
// Each claim is asserted, and what was measured for it is logged in lines that
// begin with "measured:", for example
//
//	measured: kill -9 to 503: 31 ms
//
//	go test -v ./cmd/pmcheck/internal/test/e2e | grep -o 'measured:.*'
//
// collects them. The tests need root, Puppet Server, HAProxy and curl; go test -short skips them.
package e2e
