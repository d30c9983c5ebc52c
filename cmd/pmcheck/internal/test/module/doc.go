// Package module contains only tests. They run the Puppet module in packaging/puppet, the
// examples of how other programs set and lift holds, and the migration from the xinetd
// check, each with the program it is written for.
//
// The tests need root and the Debian packages in the Makefile's PARTS; go test -short skips
// them. They do not touch the machine's own Puppet, pmcheck or units: packages are installed
// on hosts of package lab.
package module
