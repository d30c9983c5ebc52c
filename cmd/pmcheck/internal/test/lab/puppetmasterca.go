//go:build linux

package lab

import (
	"crypto/x509"
	"time"
)

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
