// Package peers contains only tests. They run the programs other than HAProxy that
// work with pmcheck, which are Prometheus and other balancers, with the
// configurations in examples.
package peers
