// Package packages tests what is installed rather than what is in the tree: the
// DEB and the RPM, on hosts with a systemd of their own. It has tests only.
package packages
