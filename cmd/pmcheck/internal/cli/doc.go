// Package cli is pmcheck's command line: one file for each command. It is the
// only package that prints.
package cli
