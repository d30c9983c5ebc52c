//go:build linux

package lab

import (
	"crypto/x509"
	"time"
)

// RevokeCert has m's CA revoke the certificate that m's host has for certname,
// and puts the revocation list where Puppet keeps it. The server takes up a
// changed list by itself within a second or so.
func (m *PuppetMaster) RevokeCert(certname string) {
	m.tb.Helper()
	text := m.Host.MustRun("cat", masterSSL+"/certs/"+certname+".pem")
	list := m.revocationList()
	revoke(m.tb, list, decodePEM(m.tb, []byte(text)))
	m.replaceCRL(list, list.NextUpdate)
}

// ExpireCRL replaces the revocation list of m's CA by the same one, signed anew
// but expired an hour ago.
func (m *PuppetMaster) ExpireCRL() {
	m.tb.Helper()
	m.replaceCRL(m.revocationList(), time.Now().Add(-time.Hour))
}

// RotateCA replaces m's CA, which must be its own, by a new one, and m's
// certificate by one of that. The server goes on with the old ones until it is
// reloaded or restarted.
func (m *PuppetMaster) RotateCA() {
	m.tb.Helper()
	ca := newAuthority(m.tb, "Puppet CA: the next")
	m.replace(masterCA+"/ca_key.pem", encodePEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(ca.key)))
	m.replace(masterCA+"/ca_pub.pem", encodePEM("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&ca.key.PublicKey)))
	m.replace(masterCA+"/ca_crt.pem", encodePEM("CERTIFICATE", ca.cert.Raw))
	list := m.revocationList()
	list.RevokedCertificateEntries = nil
	m.replaceCRL(list, list.NextUpdate)
	m.IssueCert(m.Host, m.Certname(), nil)
}

// replaceCRL signs the entries of list under the next number.
func (m *PuppetMaster) replaceCRL(list *x509.RevocationList, nextUpdate time.Time) {
	m.tb.Helper()
	crl := encodePEM("X509 CRL", m.ca.authority().revocationList(m.tb, list, nextUpdate))
	m.ca.replace(masterCA+"/ca_crl.pem", crl)
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

// replace replaces a file of user puppet in one step, so that no program reads half
// of it.
func (m *PuppetMaster) replace(path string, content []byte) {
	m.tb.Helper()
	m.Host.WriteFile(path+".new", string(content), 0o640)
	m.Host.MustRun("chown", "puppet:puppet", path+".new")
	m.Host.MustRun("mv", path+".new", path)
}
