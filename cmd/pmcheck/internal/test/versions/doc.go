// Package versions holds tests only. They run pmcheck's package, and HAProxy in front of
// pmcheck, in the versions of several Debian releases, and write packaging/doc/versions.md.
package versions
