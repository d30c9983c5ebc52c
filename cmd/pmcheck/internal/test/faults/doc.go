// Package faults holds tests only: a master on a host of its own, pmcheck
// installed on it from its package, HAProxy in front of them, and everything that
// can go wrong, done for real.
//
// Each fault is a row of a table: what pmcheck and HAProxy said, how long until
// they said it, what recovered it, and how long until the master was back. A row
// fails if pmcheck says something else, or says 200 again while the fault is there,
// or stays out when it is gone. make faults prints the whole table, and make proof
// writes it to packaging/doc/proof.md. What cannot be done on one machine without a
// container engine is in notInjected. make test-all has the rows that take no more
// than seconds.
package faults
