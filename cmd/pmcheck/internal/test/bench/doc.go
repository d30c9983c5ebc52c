// Package bench holds benchmarks only. They compare pmcheck with HAProxy itself and with the xinetd
// check that pmcheck replaces:
//
//	go test -run '^$' -bench . -benchtime 1x -timeout 2h ./cmd/pmcheck/internal/test/bench
//
// All parts are real processes, pmcheck without the timer slack of its unit. Three rounds
// measure one program after the other, and the tables show medians. Run as root, with the packages
// that a failure names, on a machine with at least two CPUs and no other work.
package bench
