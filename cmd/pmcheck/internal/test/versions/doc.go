// Package versions contains only tests. They try pmcheck's DEB, HAProxy with pmcheck, and masters
// on booted hosts, of several Debian releases, and pmcheck for arm64 in an emulator. A service of
// Type=notify-reload, as OpenVox Server 9 is one, reloads on systemd 257. They write the table of versions in
// packaging/doc/proof.md.
package versions
