// Package peers has no code: its tests run the programs other than HAProxy
// that pmcheck lives among, Prometheus and balancers of other kinds, with the
// configurations in examples.
package peers
