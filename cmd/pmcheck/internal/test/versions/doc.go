// Package versions contains only tests. They try pmcheck's DEB, and HAProxy with pmcheck, on
// several Debian releases, and write the tables in packaging/doc/versions.md.
package versions
