// Package versions contains only tests. They try pmcheck's DEB and masters on booted hosts, and HAProxy with
// pmcheck, of several Debian releases, and pmcheck for arm64 in an emulator. A service of Type=notify-reload, as
// OpenVox Server 9 is one, reloads on systemd 257.
package versions
