// Package puppetclient sends requests to a Puppet service over mutual TLS, the way an
// agent does: to Puppet Server, PuppetDB, the CA, or PE's.
//
// A [Client] verifies the chain, the name and the CRLs of a server by itself, the latter as
// certificate_revocation asks. It offers the host's certificate to every server, unless the
// files show that it is of no use: see [Answer.Anonymous]. A handshake costs Puppet Server about
// ten times as much as a request, so a connection is kept. Every error of a Client is an [*Error]
// with a [Reason] from a closed set. [Credentials] are read again when the files change.
package puppetclient
