// Package puppetclient sends requests to a Puppet service over mutual TLS, the way an
// agent does.
//
// A [Client] has an address, the certname to expect there, and [Credentials]: the
// PEM files of a host, as Puppet lays them out. [Client.Do] asks for a path and
// returns an [Answer], which also describes the connection and the certificates.
// It works with any service of Puppet: Puppet Server, PuppetDB, the CA, or PE's.
//
// # What net/http does not do
//
// The package verifies servers itself. crypto/tls refuses the certificates of old
// Puppet CAs, which have the host's name in the common name only; it knows no CRLs;
// and it offers a client certificate only if the server names its direct issuer,
// which a Puppet Server with an intermediate CA does not. This package verifies the
// chain, the name and the CRLs, the latter as certificate_revocation asks, and it
// offers the host's certificate to every server, unless the files show that it is of
// no use: see [Answer.Anonymous].
//
// With TLS 1.3 a server refuses a client certificate after the handshake, often by
// closing the connection while the request is being written. The client then looks for
// the TLS alert behind that error, and for its cause in the host's own files. Every
// error of a Client is an [*Error] with a [Reason] from a closed set.
//
// # Files that change
//
// Puppet renews certificates and CRLs in place. Before each request the files are
// compared with those that were read last, by size, modification time and inode. A
// set is used only if all its files are good; until then the last good set stays in
// use, and the Answer has a Warning. Before there was a good set, as much of the files as is
// good is used, which may mean that the server is not verified against a CA.
//
// # Connections
//
// A handshake costs Puppet Server about ten times as much as a request, so a
// connection is kept, for at most [Client.Handshake]. The client has a read pending
// on it all the time, so [Client.Lost] is called the moment the server closes it,
// long before the next request.
package puppetclient
