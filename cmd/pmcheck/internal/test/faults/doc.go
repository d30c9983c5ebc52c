// Package faults contains only tests. They inject real faults into a master on its own host,
// with pmcheck installed from its package and HAProxy in front of it.
//
// Each fault is a row of a table. A row fails if pmcheck gives another answer than it names, answers 200
// again while the fault lasts, or does not answer 200 after its end. make faults prints the whole table, and
// make proof writes it to packaging/doc/proof.md. make test-all runs the rows that take only seconds.
package faults
