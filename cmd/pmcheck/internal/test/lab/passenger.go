//go:build linux

package lab

// passengerSite is Apache's site for the Ruby master, of the package puppet-master-passenger.
const passengerSite = "/etc/apache2/sites-available/puppet-master.conf"

// configurePassenger makes the CA and the master's certificate, which Apache needs before it
// starts, and enters the certificate's name in the site. The package does both when it is
// installed, with the name that the host had then.
func (m *PuppetMaster) configurePassenger() {
	m.tb.Helper()
	m.Host.MustRun("puppet", "cert", "generate", m.Certname(), "--allow-dns-alt-names")
	m.Host.MustRun("chown", "-R", "puppet:puppet", masterSSL)
	m.Host.MustRun("sed", "-E", "-i", `s,^( *SSLCertificate(Key)?File .*/)[^/]*$,\1`+m.Certname()+".pem,", passengerSite)
	m.Host.MustRun("sh", "-c", "a2dissite -q 000-default; a2enmod -q ssl headers; a2ensite -q puppet-master")
}
