// Package peers contains only tests. They run the programs beside Puppet Server that
// work with pmcheck, which are monitoring systems and other balancers, with the
// configurations in examples.
package peers
