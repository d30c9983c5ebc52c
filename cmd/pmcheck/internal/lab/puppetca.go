package lab

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
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
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		s.tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: s.serial(),
		Subject:      pkix.Name{CommonName: certname},
		DNSNames:     []string{certname},
		NotBefore:    time.Now().Add(-24 * time.Hour),
		NotAfter:     time.Now().Add(5 * 365 * 24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if edit != nil {
		edit(template)
	}
	caCert, caKey := s.ca()
	der, err := x509.CreateCertificate(rand.Reader, template, caCert, &key.PublicKey, caKey)
	if err != nil {
		s.tb.Fatal(err)
	}
	files := s.CertFiles(certname)
	s.writePEM(files.Cert, "CERTIFICATE", der)
	s.writePEM(files.Key, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
	return files
}

// RevokeCert adds the certificate of certname to the CA's revocation list. The
// server takes up a changed list by itself within a second or so.
func (s *PuppetServer) RevokeCert(certname string) {
	s.tb.Helper()
	cert, err := x509.ParseCertificate(s.readPEM(s.CertFiles(certname).Cert))
	if err != nil {
		s.tb.Fatal(err)
	}
	list := s.revocationList()
	list.RevokedCertificateEntries = append(list.RevokedCertificateEntries,
		x509.RevocationListEntry{SerialNumber: cert.SerialNumber, RevocationTime: time.Now()})
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

func (s *PuppetServer) replaceCRL(list *x509.RevocationList, nextUpdate time.Time) {
	s.tb.Helper()
	list.Number = new(big.Int).Add(list.Number, big.NewInt(1))
	list.ThisUpdate = time.Now().Add(-48 * time.Hour)
	list.NextUpdate = nextUpdate
	caCert, caKey := s.ca()
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number:                    list.Number,
		ThisUpdate:                list.ThisUpdate,
		NextUpdate:                list.NextUpdate,
		RevokedCertificateEntries: list.RevokedCertificateEntries,
	}, caCert, caKey)
	if err != nil {
		s.tb.Fatal(err)
	}
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

func (s *PuppetServer) ca() (*x509.Certificate, *rsa.PrivateKey) {
	s.tb.Helper()
	cert, err := x509.ParseCertificate(s.readPEM(s.path("ca/ca_crt.pem")))
	if err != nil {
		s.tb.Fatal(err)
	}
	key, err := x509.ParsePKCS1PrivateKey(s.readPEM(s.path("ca/ca_key.pem")))
	if err != nil {
		s.tb.Fatal(err)
	}
	return cert, key
}

// serial is random, and so out of the way of those the CA counts up itself.
func (s *PuppetServer) serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		s.tb.Fatal(err)
	}
	return n.Add(n, big.NewInt(1<<32))
}

func (s *PuppetServer) readPEM(path string) []byte {
	s.tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		s.tb.Fatal(err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		s.tb.Fatalf("%s holds no PEM block", path)
	}
	return block.Bytes
}

// writePEM replaces a file in one step, so that the server never reads half of
// it, and leaves it to user puppet with the modes Puppet uses.
func (s *PuppetServer) writePEM(path, kind string, der []byte) {
	s.tb.Helper()
	puppet := puppetUser(s.tb)
	next := path + ".new"
	if err := os.WriteFile(next, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o640); err != nil {
		s.tb.Fatal(err)
	}
	if err := os.Chown(next, int(puppet.Uid), int(puppet.Gid)); err != nil {
		s.tb.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		s.tb.Fatal(err)
	}
}
