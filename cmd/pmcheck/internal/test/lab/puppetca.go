//go:build linux

package lab

import (
	"crypto/x509"
	"os"
	"time"
)

// CertFiles are the PEM files Puppet keeps for one certificate name, and those
// shared by all names.
type CertFiles struct {
	Cert, Key string
	CA, CRL   string
}

// CertFiles returns where the files of certname are, present or not. Those of
// the server's own certname exist once it is ready.
func (s *PuppetServer) CertFiles(certname string) CertFiles {
	return CertFiles{
		Cert: s.path("ssl/certs/" + certname + ".pem"),
		Key:  s.path("ssl/private_keys/" + certname + ".pem"),
		CA:   s.path("ssl/certs/ca.pem"),
		CRL:  s.path("ssl/crl.pem"),
	}
}

// IssueCert has the server's CA sign a certificate for certname, in place of
// any it had, and writes it where an agent would keep it. edit, if not nil,
// may change what is signed: its end, or the alternative names. The server must
// have been ready once.
func (s *PuppetServer) IssueCert(certname string, edit func(*x509.Certificate)) CertFiles {
	s.tb.Helper()
	der, key := s.ca().issue(s.tb, certname, edit)
	files := s.CertFiles(certname)
	s.writePEM(files.Cert, "CERTIFICATE", der)
	s.writePEM(files.Key, "RSA PRIVATE KEY", key)
	return files
}

// RevokeCert adds the certificate of certname to the CA's revocation list. The
// server takes up a changed list by itself within a second or so.
func (s *PuppetServer) RevokeCert(certname string) {
	s.tb.Helper()
	list := s.revocationList()
	revoke(s.tb, list, s.readPEM(s.CertFiles(certname).Cert))
	s.replaceCRL(list, list.NextUpdate)
}

// ExpireCRL replaces the CA's revocation list by the same one, signed anew but
// expired an hour ago: from then on the server refuses every client certificate.
func (s *PuppetServer) ExpireCRL() {
	s.tb.Helper()
	s.replaceCRL(s.revocationList(), time.Now().Add(-time.Hour))
}

// RenewCRL undoes ExpireCRL.
func (s *PuppetServer) RenewCRL() {
	s.tb.Helper()
	s.replaceCRL(s.revocationList(), time.Now().Add(365*24*time.Hour))
}

// replaceCRL signs the entries of list under the next number.
func (s *PuppetServer) replaceCRL(list *x509.RevocationList, nextUpdate time.Time) {
	s.tb.Helper()
	der := s.ca().revocationList(s.tb, list, nextUpdate)
	s.writePEM(s.path("ca/ca_crl.pem"), "X509 CRL", der)
	s.writePEM(s.CertFiles("").CRL, "X509 CRL", der)
}

func (s *PuppetServer) revocationList() *x509.RevocationList {
	s.tb.Helper()
	list, err := x509.ParseRevocationList(s.readPEM(s.CertFiles("").CRL))
	if err != nil {
		s.tb.Fatal(err)
	}
	return list
}

func (s *PuppetServer) ca() authority {
	s.tb.Helper()
	return parseAuthority(s.tb, s.readPEM(s.path("ca/ca_crt.pem")), s.readPEM(s.path("ca/ca_key.pem")))
}

func (s *PuppetServer) readPEM(path string) []byte {
	s.tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		s.tb.Fatal(err)
	}
	return decodePEM(s.tb, data)
}

// writePEM replaces a file in one step, so that the server never reads half of
// it, and leaves it to user puppet with the modes Puppet uses.
func (s *PuppetServer) writePEM(path, kind string, der []byte) {
	s.tb.Helper()
	puppet := puppetUser(s.tb)
	next := path + ".new"
	if err := os.WriteFile(next, encodePEM(kind, der), 0o640); err != nil {
		s.tb.Fatal(err)
	}
	if err := os.Chown(next, int(puppet.Uid), int(puppet.Gid)); err != nil {
		s.tb.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		s.tb.Fatal(err)
	}
}
