// Package packages contains only tests. They install the DEB and the RPM on hosts with their
// own systemd, and test the result.
package packages
