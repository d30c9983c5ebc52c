// Package gate_test runs the gate with the kernel's nftables in a network namespace.
package gate_test
