package lab

import (
	"bytes"
	"crypto/x509"
	"os/exec"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// A keeper keeps the PEM files of one Puppet, on this machine or on a host.
type keeper struct {
	tb     testing.TB
	asRoot func(program string, args ...string) *exec.Cmd // where the files are
	owner  string                                         // user:group of Puppet
	ssl    string
	caDir  string  // if it is a CA
	signer *keeper // the CA; may be itself
}

// CertFiles returns the paths of certname's files, whether they exist or not. The files of
// the server's own certname exist once it is ready.
func (k *keeper) CertFiles(certname string) puppetclient.Files {
	return puppetclient.Files{
		Certificate: k.ssl + "/certs/" + certname + ".pem",
		Key:         k.ssl + "/private_keys/" + certname + ".pem",
		CA:          k.ssl + "/certs/ca.pem",
		CRL:         k.ssl + "/crl.pem",
	}
}

func (k *keeper) issue(certname string, edit func(*x509.Certificate)) puppetclient.Files {
	k.tb.Helper()
	cert, key := k.signer.authority().issue(k.tb, certname, edit)
	files := k.CertFiles(certname)
	k.write(files.Certificate, encodePEM("CERTIFICATE", cert))
	k.write(files.Key, encodePEM("RSA PRIVATE KEY", key))
	return files
}

// RevokeCert revokes the certificate of certname. The server reloads a changed list by
// itself within about a second.
func (k *keeper) RevokeCert(certname string) {
	k.tb.Helper()
	list := k.signer.revocationList()
	revoke(k.tb, list, k.read(k.CertFiles(certname).Certificate))
	k.replaceCRL(list, list.NextUpdate)
}

// ExpireCRL signs the CA's revocation list again, with an expiry one hour in the past. With
// such a list, the server refuses every client certificate.
func (k *keeper) ExpireCRL() {
	k.tb.Helper()
	k.replaceCRL(k.signer.revocationList(), time.Now().Add(-time.Hour))
}

// RenewCRL undoes ExpireCRL.
func (k *keeper) RenewCRL() {
	k.tb.Helper()
	k.replaceCRL(k.signer.revocationList(), time.Now().Add(365*24*time.Hour))
}

// rotate replaces the CA, which must be its own, with a new one.
func (k *keeper) rotate() {
	k.tb.Helper()
	ca := newAuthority(k.tb, "Puppet CA: the next")
	k.write(k.caDir+"/ca_key.pem", encodePEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(ca.key)))
	k.write(k.caDir+"/ca_pub.pem", encodePEM("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&ca.key.PublicKey)))
	k.write(k.caDir+"/ca_crt.pem", encodePEM("CERTIFICATE", ca.cert.Raw))
	list := k.revocationList()
	list.RevokedCertificateEntries = nil
	k.replaceCRL(list, list.NextUpdate)
}

// replaceCRL replaces the revocation list by a signed one with the entries of list and the
// next number.
func (k *keeper) replaceCRL(list *x509.RevocationList, nextUpdate time.Time) {
	k.tb.Helper()
	crl := encodePEM("X509 CRL", k.signer.authority().revocationList(k.tb, list, nextUpdate))
	k.signer.write(k.signer.caDir+"/ca_crl.pem", crl)
	k.write(k.CertFiles("").CRL, crl)
}

func (k *keeper) revocationList() *x509.RevocationList {
	k.tb.Helper()
	list, err := x509.ParseRevocationList(k.read(k.caDir + "/ca_crl.pem"))
	Must(k.tb, err)
	return list
}

func (k *keeper) authority() authority {
	k.tb.Helper()
	return parseAuthority(k.tb, k.read(k.caDir+"/ca_crt.pem"), k.read(k.caDir+"/ca_key.pem"))
}

func (k *keeper) read(path string) []byte {
	k.tb.Helper()
	return decodePEM(k.tb, []byte(Output(k.tb, k.asRoot("cat", path))))
}

// write replaces a file by renaming, so that no program reads half of it, with the owner and mode that
// Puppet uses.
func (k *keeper) write(path string, content []byte) {
	k.tb.Helper()
	cmd := k.asRoot("sh", "-c", `install -D -m 0640 /dev/stdin "$0.new" && chown "$1" "$0.new" && mv "$0.new" "$0"`,
		path, k.owner)
	cmd.Stdin = bytes.NewReader(content)
	Output(k.tb, cmd)
}
