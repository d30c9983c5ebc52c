// Package versions contains only tests. They try pmcheck's DEB, HAProxy with pmcheck, and masters
// on booted hosts, of several Debian releases, and write the tables in packaging/doc/versions.md.
package versions
