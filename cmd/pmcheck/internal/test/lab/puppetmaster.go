package lab

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// PuppetMasterOptions configures a master. The zero value is a compile server that is its
// own CA.
type PuppetMasterOptions struct {
	CA                 *PuppetMaster // the master whose CA signs this one's certificate; it must be ready
	AltNames           []string      // further names in the certificate, such as the balancer's
	MaxActiveInstances int           // JRubies; default 1
	HeapMB             int           // default 512
	Port               string        // default 8140; of Puppet Server alone
}

// A PuppetMaster is the packaged puppetserver.service on a Host, on one port
// of all its addresses, with the packaged configuration in the packaged places.
// Its CA signs every certificate request (autosign). On a host without Puppet Server it is
// the Ruby master of Puppet 5, which always is its own CA.
type PuppetMaster struct {
	Host *Host
	Unit string // puppetserver or puppet-master

	*keeper
	ca   *PuppetMaster // may be itself
	port string
}

// NoCAServices is services.d/ca.cfg of a Puppet Server without the CA service.
const NoCAServices = `
puppetlabs.services.ca.certificate-authority-disabled-service/certificate-authority-disabled-service
puppetlabs.trapperkeeper.services.watcher.filesystem-watch-service/filesystem-watch-service
`

const masterSSL = "/var/lib/puppet/ssl"

// The units of the masters.
const (
	puppetServer = "puppetserver"
	rubyMaster   = "puppet-master"
)

// StartPuppetMaster configures, enables and starts the master's unit, and returns at once;
// see WaitReady.
func (h *Host) StartPuppetMaster(opts PuppetMasterOptions) *PuppetMaster {
	tb := h.net.tb
	tb.Helper()
	m := &PuppetMaster{Host: h, Unit: puppetServer, ca: opts.CA, port: cmp.Or(opts.Port, "8140")}
	m.keeper = &keeper{tb: tb, asRoot: h.Command, owner: "puppet:puppet", ssl: masterSSL,
		caDir: "/etc/puppet/puppetserver/ca"}
	if m.ca == nil {
		m.ca = m
	}
	m.signer = m.ca.keeper
	if _, err := h.Run("systemctl", "cat", rubyMaster); err == nil {
		m.Unit, m.caDir = rubyMaster, masterSSL+"/ca"
	} else if h.root == "/" {
		Need(tb, "puppetserver", "puppetserver")
	}
	// Only the content is deleted, since Debian's Puppet Server keeps its keys elsewhere if
	// the directory does not exist.
	h.MustRun("sh", "-c", "[ ! -d "+masterSSL+" ] || find "+masterSSL+" -mindepth 1 -delete")
	h.MustRun("rm", "-rf", m.caDir)
	h.WriteFile("/etc/puppet/puppet.conf", m.puppetConf(opts), 0o644)
	m.SetSitePP("")
	if m.Unit == puppetServer {
		m.configureServer(opts)
	}
	h.MustRun("systemctl", "daemon-reload")
	h.MustRun("systemctl", "enable", m.Unit)
	h.MustRun("systemctl", "start", "--no-block", m.Unit)
	return m
}

// configureServer writes what only Puppet Server reads.
func (m *PuppetMaster) configureServer(opts PuppetMasterOptions) {
	h := m.Host
	h.net.tb.Helper()
	args := PuppetServerOptions{HeapMB: opts.HeapMB}.javaArgs()
	h.WriteFile("/etc/default/puppetserver", fmt.Sprintf("JAVA_ARGS=%q\nTK_ARGS=\n", strings.Join(args, " ")), 0o644)
	h.WriteFile("/etc/puppet/puppetserver/conf.d/lab.conf", fmt.Sprintf(
		"jruby-puppet.max-active-instances: %d\ncertificate-authority.allow-subject-alt-names: true\n",
		max(opts.MaxActiveInstances, 1)), 0o644)
	h.MustRun("sed", "-i", "s/ssl-port: 8140/ssl-port: "+m.port+"/", "/etc/puppet/puppetserver/conf.d/webserver.conf")
	if m.ca != m {
		m.joinCA(opts.AltNames)
	}
	// ExecStartPost in Debian's unit checks as user puppet whether the process is alive. On
	// a busy machine that check may run before the process has changed to that user, and
	// the start fails. With Type=exec, systemd first waits until the program is executed.
	// Three servers that start at once on two busy cores need more than the unit's 300 s.
	h.WriteFile("/etc/systemd/system/puppetserver.service.d/lab.conf",
		"[Service]\nType=exec\nTimeoutStartSec=900\n", 0o644)
}

// WaitReady waits until the unit is active and the server answers "running", and returns how long that took.
// The Ruby master needs a client certificate for its status, so it is asked for the CA's, which it then has.
func (m *PuppetMaster) WaitReady(within time.Duration) time.Duration {
	m.tb.Helper()
	path := "/status/v1/simple"
	if m.Unit != puppetServer {
		path = "/puppet-ca/v1/certificate/ca?environment=production"
	}
	q := query{certname: m.Certname(), dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return m.Host.net.DialContext(ctx, network, m.Address())
	}}
	return WaitFor(m.tb, within, 100*time.Millisecond, func() error {
		if state, err := m.Host.Run("systemctl", "is-active", m.Unit); err != nil {
			if state == "failed" {
				m.tb.Fatal(m.Host.Journal(m.Unit))
			}
			return err
		}
		code, body, err := q.get(path)
		if err != nil || code != http.StatusOK {
			return errors.Join(err, fmt.Errorf("the status is %d %q", code, body))
		}
		return nil
	})
}

// Certname returns the name in the master's certificate.
func (m *PuppetMaster) Certname() string { return m.Host.FQDN() }

// Address returns the host:port the master listens on.
func (m *PuppetMaster) Address() string { return net.JoinHostPort(m.Host.Address, m.port) }

// SetSitePP replaces the manifest of the production environment, which is
// empty at first. The next compile reads it.
func (m *PuppetMaster) SetSitePP(content string) {
	m.tb.Helper()
	m.Host.WriteFile("/etc/puppet/code/environments/production/manifests/site.pp", content, 0o644)
}

// IssueCert signs a certificate for certname with m's CA and puts it on host where Puppet
// keeps it, with the CA's certificate and revocation list. edit is as in
// PuppetServer.IssueCert.
func (m *PuppetMaster) IssueCert(host *Host, certname string, edit func(*x509.Certificate)) {
	m.tb.Helper()
	k := &keeper{tb: m.tb, asRoot: host.Command, owner: "puppet:puppet", ssl: masterSSL, signer: m.signer}
	files := k.issue(certname, edit)
	k.write(files.CA, []byte(m.ca.caFile("ca_crt.pem")))
	k.write(files.CRL, []byte(m.ca.caFile("ca_crl.pem")))
	host.MustRun("chown", "-R", "puppet:puppet", masterSSL)
}

// RotateCA replaces m's CA, which must be its own, with a new one, and m's certificate with
// one signed by the new CA. The server uses the old ones until it is reloaded or restarted.
func (m *PuppetMaster) RotateCA() {
	m.tb.Helper()
	m.rotate()
	m.IssueCert(m.Host, m.Certname(), nil)
}

// joinCA makes m a compile server, with a certificate from m.ca and without a CA service.
func (m *PuppetMaster) joinCA(altNames []string) {
	m.tb.Helper()
	m.IssueCert(m.Host, m.Certname(), func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, altNames...) })
	m.Host.WriteFile("/etc/puppet/puppetserver/services.d/ca.cfg", NoCAServices, 0o644)
	m.Host.WriteFile("/etc/puppet/puppetserver/conf.d/lab-tls.conf", fmt.Sprintf(`webserver: {
    ssl-cert: %[1]s/certs/%[2]s.pem
    ssl-key: %[1]s/private_keys/%[2]s.pem
    ssl-ca-cert: %[1]s/certs/ca.pem
    ssl-crl-path: %[1]s/crl.pem
}
`, masterSSL, m.Certname()), 0o644)
}

func (m *PuppetMaster) puppetConf(opts PuppetMasterOptions) string {
	names := append([]string{m.Certname()}, opts.AltNames...)
	server := "[server]"
	if m.Unit != puppetServer { // as Debian ships it; without ssldir it makes another CA
		server = fmt.Sprintf("ssldir = %s\n\n[master]\nvardir = /var/lib/puppet", masterSSL)
	}
	return fmt.Sprintf(`[main]
certname = %s
server = %s
dns_alt_names = %s
keylength = 2048

%s
autosign = true
`, m.Certname(), m.ca.Certname(), strings.Join(names, ","), server)
}

func (m *PuppetMaster) caFile(name string) string {
	m.tb.Helper()
	return m.Host.MustRun("cat", m.caDir+"/"+name) + "\n"
}
