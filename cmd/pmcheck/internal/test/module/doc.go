// Package module holds tests only: the Puppet module in packaging/puppet, the
// examples of how others set and lift holds, and the move from the xinetd check,
// each run by the program it is written for.
//
// The tests need root and the Debian packages in the Makefile's PARTS; go test
// -short skips them. Nothing in them touches the machine's own Puppet, pmcheck
// or units: what has to be installed is installed on hosts of package lab.
package module
