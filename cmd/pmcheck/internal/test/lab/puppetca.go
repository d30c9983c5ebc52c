//go:build linux

package lab

import (
	"crypto/x509"
	"os"
	"time"
)

// CertFiles holds the paths of the PEM files that Puppet keeps for one certname, and of
// those that all names share.
type CertFiles struct {
	Cert, Key string
	CA, CRL   string
}

// CertFiles returns the paths of certname's files, whether they exist or not. The files of
// the server's own certname exist once it is ready.
func (s *PuppetServer) CertFiles(certname string) CertFiles {
	return CertFiles{
		Cert: s.path("ssl/certs/" + certname + ".pem"),
		Key:  s.path("ssl/private_keys/" + certname + ".pem"),
		CA:   s.path("ssl/certs/ca.pem"),
		CRL:  s.path("ssl/crl.pem"),
	}
}

// IssueCert signs a certificate for certname with the server's CA, and writes it where an
// agent would keep it, over an earlier one. edit, if not nil, may change the certificate
// before it is signed, such as its expiry or its alternative names. The server must have
// been ready once.
func (s *PuppetServer) IssueCert(certname string, edit func(*x509.Certificate)) CertFiles {
	s.tb.Helper()
	der, key := s.ca().issue(s.tb, certname, edit)
	files := s.CertFiles(certname)
	s.writePEM(files.Cert, "CERTIFICATE", der)
	s.writePEM(files.Key, "RSA PRIVATE KEY", key)
	return files
}

// ExpireCRL signs the CA's revocation list again, with an expiry one hour in the past. With
// such a list, the server refuses every client certificate.
func (s *PuppetServer) ExpireCRL() {
	s.tb.Helper()
	s.replaceCRL(s.revocationList(), time.Now().Add(-time.Hour))
}

// RenewCRL undoes ExpireCRL.
func (s *PuppetServer) RenewCRL() {
	s.tb.Helper()
	s.replaceCRL(s.revocationList(), time.Now().Add(365*24*time.Hour))
}

// replaceCRL replaces the revocation list by a signed one with the entries of list and the
// next number.
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

// writePEM replaces a file by renaming, so that the server never reads half of it, with the
// owner and mode that Puppet uses.
func (s *PuppetServer) writePEM(path, kind string, der []byte) {
	s.tb.Helper()
	puppet := s.user()
	next := path + ".new"
	if err := os.WriteFile(next, encodePEM(kind, der), 0o640); err != nil {
		s.tb.Fatal(err)
	}
	if err := os.Chown(next, puppet.uid, puppet.gid); err != nil {
		s.tb.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		s.tb.Fatal(err)
	}
}

// RevokeCert revokes the certificate that m's host has for certname, in the name of m's CA,
// and puts the revocation list where Puppet keeps it. The server reloads a changed list by
// itself within about a second.
func (m *PuppetMaster) RevokeCert(certname string) {
	m.tb.Helper()
	text := m.Host.MustRun("cat", masterSSL+"/certs/"+certname+".pem")
	list := m.revocationList()
	revoke(m.tb, list, decodePEM(m.tb, []byte(text)))
	m.replaceCRL(list, list.NextUpdate)
}

// ExpireCRL signs the revocation list of m's CA again, with an expiry one hour in the past.
func (m *PuppetMaster) ExpireCRL() {
	m.tb.Helper()
	m.replaceCRL(m.revocationList(), time.Now().Add(-time.Hour))
}

// RotateCA replaces m's CA, which must be its own, with a new one, and m's certificate with
// one signed by the new CA. The server uses the old ones until it is reloaded or restarted.
func (m *PuppetMaster) RotateCA() {
	m.tb.Helper()
	ca := newAuthority(m.tb, "Puppet CA: the next")
	m.replace(m.caDir()+"/ca_key.pem", encodePEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(ca.key)))
	m.replace(m.caDir()+"/ca_pub.pem", encodePEM("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&ca.key.PublicKey)))
	m.replace(m.caDir()+"/ca_crt.pem", encodePEM("CERTIFICATE", ca.cert.Raw))
	list := m.revocationList()
	list.RevokedCertificateEntries = nil
	m.replaceCRL(list, list.NextUpdate)
	m.IssueCert(m.Host, m.Certname(), nil)
}

// replaceCRL replaces the revocation list by a signed one with the entries of list and the
// next number.
func (m *PuppetMaster) replaceCRL(list *x509.RevocationList, nextUpdate time.Time) {
	m.tb.Helper()
	crl := encodePEM("X509 CRL", m.ca.authority().revocationList(m.tb, list, nextUpdate))
	m.ca.replace(m.ca.caDir()+"/ca_crl.pem", crl)
	m.replace(masterSSL+"/crl.pem", crl)
}

func (m *PuppetMaster) revocationList() *x509.RevocationList {
	m.tb.Helper()
	list, err := x509.ParseRevocationList(decodePEM(m.tb, []byte(m.ca.caFile("ca_crl.pem"))))
	if err != nil {
		m.tb.Fatal(err)
	}
	return list
}

// replace replaces a file of user puppet by renaming, so that no program reads half of it.
func (m *PuppetMaster) replace(path string, content []byte) {
	m.tb.Helper()
	m.Host.WriteFile(path+".new", string(content), 0o640)
	m.Host.MustRun("chown", "puppet:puppet", path+".new")
	m.Host.MustRun("mv", path+".new", path)
}
