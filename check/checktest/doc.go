// Package checktest provides a stand-in for a Puppet Server: a throw-away
// certificate authority and a master that answers the Status API over mutual
// TLS the way the real one does. It serves tests, and operators who want to
// rehearse a balancer's configuration without a Puppet Server.
//
// What it imitates was compared with Puppet Server 7.9.5: the words and codes
// of the Status API, 403 for methods other than GET, 400 for a Host header
// that differs from the TLS server name, anonymous clients admitted to the
// status paths, client certificates refused in the handshake when the CRL has
// expired, the format of jruby-metrics.
package checktest
