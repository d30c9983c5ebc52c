// Package bench holds benchmarks only. They compare pmcheck with a bare net/http server,
// HAProxy itself, and the xinetd check that pmcheck replaces:
//
//	go test -run '^$' -bench . -benchtime 1x -timeout 2h ./cmd/pmcheck/internal/test/bench
//
// All parts are real processes. Three rounds measure each program in turn, and the tables
// show medians. A ratio is the median of the ratios within each round, so that a machine
// that is slow for a while is slow for both sides. Run as root, with the packages that a
// failure names, on a machine with at least two CPUs and no other work.
//
// Other work on the machine disturbs the CPU time per answer least. Compare that when rates
// vary.
package bench
