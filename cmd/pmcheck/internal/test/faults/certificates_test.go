package faults_test

import (
	"crypto/x509"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const (
	ssldir = "/var/lib/puppet/ssl"
	caCRL  = "/etc/puppet/puppetserver/ca/ca_crl.pem"
)

func certFile(certname string) string { return ssldir + "/certs/" + certname + ".pem" }
func keyFile(certname string) string  { return ssldir + "/private_keys/" + certname + ".pem" }

// certificateFaults returns faults in the files that Puppet Server and pmcheck share.
// Puppet Server reads certificates and keys when it starts, and a CRL whenever it
// changes. pmcheck looks at all of them at each probe, and makes a handshake after a change and when it is
// reloaded. If something is wrong with its own certificate, it asks without one.
func certificateFaults() []fault {
	const look = unanswered // probe.interval and some slack
	expired := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }
	faults := []fault{
		{name: "own certificate expired", inject: issue(expired), lasts: look},
		{name: "certificate half written", inject: halve, lasts: look},
		{name: "own certificate revoked", inject: revokeOwn, lasts: look, long: true},
		{name: "own certificate of another CA", inject: ownForeign, lasts: look, long: true},
		{name: "key unreadable, pmcheck restarted", inject: hideKey, lasts: look, long: true},
		{
			name:   "Puppet Server's certificate revoked",
			inject: func(s *faultSite) { s.Puppet.RevokeCert(s.Puppet.Certname()) },
			long:   true,
			said:   []string{"503 unhealthy: server-certificate-revoked"},
			within: look,
		},
		{
			name:   "Puppet Server's certificate expired, and reloaded",
			inject: func(s *faultSite) { issue(expired)(s); s.reload() },
			mend:   func(s *faultSite) { s.restoreSSL(); s.reload() },
			long:   true,
			said:   []string{"503 unhealthy: server-certificate-expired"},
			within: reloadTime,
			back:   reloadTime,
		},
		{
			name:   "CA replaced, Puppet Server not reloaded",
			inject: func(s *faultSite) { s.Puppet.RotateCA() },
			mend:   (*faultSite).reload,
			long:   true,
			said:   []string{"503 unhealthy: server-certificate-untrusted"},
			within: look,
			back:   reloadTime,
		},
	}
	for i := range faults {
		f := &faults[i]
		inject := f.inject
		f.inject = func(s *faultSite) { s.keepSSL(); inject(s) }
		if f.mend == nil {
			f.mend = (*faultSite).restoreSSL
		}
		if f.back == 0 {
			f.back = look
		}
	}
	return faults
}

// keepSSL copies the files for restoreSSL. Of the CRL it copies the CA's: whenever that has changed, as by the last
// restoreSSL, Puppet Server replaces the host's by a copy of it, through a temporary file.
func (s *faultSite) keepSSL() {
	s.Host.MustRun("sh", "-ec", "rm -rf /root/ssl; mkdir /root/ssl; cp -a "+caCRL+" /root/ssl/crl.pem; cd "+ssldir+
		"; chown --reference=. /root/ssl; chmod --reference=. /root/ssl"+
		"; cp -a --parents certs/*.pem private_keys/*.pem /root/ssl")
}

func (s *faultSite) restoreSSL() {
	s.Host.MustRun("sh", "-ec", "cp -a /root/ssl/crl.pem "+caCRL+"; cp -a /root/ssl/. "+ssldir)
	s.configure("")
}

// reload makes Puppet Server read everything again, and waits until it has. Without the guard, which
// would take the master out before the fault does.
func (s *faultSite) reload() {
	s.Host.MustRun("systemctl", "stop", reloadGuard)
	s.Host.MustRun("systemctl", "reload", "puppetserver")
}

func issue(edit func(*x509.Certificate)) func(*faultSite) {
	return func(s *faultSite) { s.Puppet.IssueCert(s.Host, s.Puppet.Certname(), edit) }
}

// revokeOwn issues a new certificate for the host and revokes it. Puppet Server still
// presents the previous one.
func revokeOwn(s *faultSite) {
	issue(nil)(s)
	s.Puppet.RevokeCert(s.Puppet.Certname())
}

// ownForeign replaces the certificate of the host and its key by those of an unknown CA.
func ownForeign(s *faultSite) {
	name := s.Puppet.Certname()
	ca, err := checktest.NewCA("Puppet CA: elsewhere")
	lab.Must(s.t, err)
	leaf, err := ca.Issue(checktest.Template{Name: name})
	lab.Must(s.t, err)
	key, err := leaf.KeyPEM()
	lab.Must(s.t, err)
	s.Host.WriteFile(keyFile(name), string(key), 0o644)
	s.Host.WriteFile(certFile(name), string(leaf.CertificatePEM()), 0o644)
}

// hideKey makes the key unreadable and restarts pmcheck, so that it has no earlier key.
func hideKey(s *faultSite) {
	s.Host.MustRun("chmod", "000", keyFile(s.Puppet.Certname()))
	s.Host.MustRun("systemctl", "restart", "pmcheck")
}

// halve cuts off the end of the certificate. The file keeps its inode, owner and mode.
func halve(s *faultSite) { s.Host.MustRun("truncate", "--size=700", certFile(s.Puppet.Certname())) }
