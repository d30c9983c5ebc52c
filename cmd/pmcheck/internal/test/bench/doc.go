// Package bench measures what pmcheck costs, side by side with what it is
// compared to: a bare net/http server, HAProxy itself, and the xinetd check
// that pmcheck replaces. There is nothing in it but benchmarks:
//
//	go test -run '^$' -bench . -benchtime 1x -timeout 2h ./cmd/pmcheck/internal/test/bench
//
// All parts are real processes. What is compared is measured in turn, several
// times, and the tables show medians; a ratio is the median of the ratios
// within each turn, so that a machine that is slow for a while is slow for
// both sides. PMCHECK_BENCH_ROUNDS sets the number of turns, 5 if it is not
// set; what takes minutes has 3 at most. With -short there is one, and a tenth of
// the time for each measurement: it shows that everything runs. Run as root, with
// the packages that a failure names, on a machine that does nothing else and has at
// least two CPUs.
//
// The CPU time per answer is the figure that other work on the machine disturbs
// least, and the one to compare where a rate says little.
//
// A goal that was missed is marked in the table. It does not fail the run: a
// busy machine would.
package bench
