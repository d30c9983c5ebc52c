// Package versions contains only tests. They try pmcheck's DEB, HAProxy with pmcheck, and masters
// on booted hosts, of several Debian releases, and pmcheck for arm64 in an emulator. They write the
// table of versions in packaging/doc/proof.md.
package versions
