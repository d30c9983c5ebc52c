// Package versions contains only tests. They try pmcheck's DEB, HAProxy with pmcheck, and masters
// on booted hosts, of several Debian releases, and pmcheck for arm64 in an emulator. They write the
// tables in packaging/doc/versions.md.
package versions
