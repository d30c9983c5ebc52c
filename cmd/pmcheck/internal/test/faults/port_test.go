//go:build linux

package faults_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
)

// relay forwards port 8140 to port 8141, to which Puppet Server is moved. Another program
// can then take port 8140 without a restart of Puppet Server.
const relay = "socat TCP-LISTEN:8140,fork,reuseaddr TCP:127.0.0.1:8141"

// portFaults returns faults in which another program takes the place of the relay. pmcheck
// notices at once that its kept connection is closed, and the other program at the next
// probe.
func portFaults() []fault {
	const (
		atOnce  = 4 * time.Second         // probe.interval and some slack
		silence = 5500 * time.Millisecond // also probe.timeout
		tlsKey  = " -cert /root/%[1]s.pem -key /root/%[1]s.key"
		server  = "openssl s_server -quiet -www -accept 8140" + tlsKey
		listen  = "socat TCP-LISTEN:8140,fork,reuseaddr "
	)
	faults := []fault{
		{name: "garbage", said: []string{"503 unhealthy: tls-failed"}, within: atOnce,
			inject: takePort(listen + "SYSTEM:'head -c 4096 /dev/urandom; sleep 1'")},
		{name: "accepts and never answers", said: []string{"503 unhealthy: timeout"}, within: silence, long: true,
			inject: takePort("socat -u TCP-LISTEN:8140,fork,reuseaddr OPEN:/dev/null")},
		{name: "closes its half at once", said: []string{"503 unhealthy: connection-lost"}, within: atOnce, long: true,
			inject: takePort("socat -t 600 TCP-LISTEN:8140,fork,reuseaddr 'OPEN:/dev/null,rdonly!!OPEN:/dev/null,wronly'")},
		{name: "one byte a second", said: []string{"503 unhealthy: timeout"}, within: silence, long: true,
			inject: takePort(listen + "SYSTEM:'sh /root/drip.sh'")},
		{name: "nginx, without TLS", said: []string{"503 unhealthy: tls-failed"}, within: atOnce, long: true,
			inject: takePort("nginx -c /root/plain.conf")},
		{name: "nginx before a dead backend", said: []string{"503 unhealthy: http-error"}, within: atOnce, long: true,
			inject: takePort("nginx -c /root/proxy.conf")},
		{
			name:   "`openssl s_server`, certificate of another CA",
			said:   []string{"503 unhealthy: server-certificate-untrusted"},
			within: atOnce,
			long:   true,
			inject: takePort(fmt.Sprintf(server, "foreign")),
		},
		{
			name:   "`openssl s_server`, certificate of another name",
			said:   []string{"503 unhealthy: server-certificate-name"},
			within: atOnce,
			long:   true,
			inject: takePort(fmt.Sprintf(server, "other")),
		},
	}
	for i := range faults {
		f := &faults[i]
		f.area, f.name, f.haproxy, f.back = "JVM", "port 8140 taken: "+f.name, "DOWN", 5*time.Second
		f.mend = takePort(relay)
	}
	return faults
}

// takePort returns a function that stops what listens on port 8140 and starts a shell
// command that does instead.
func takePort(command string) func(*faultSite) {
	return func(s *faultSite) {
		_, _ = s.Host.Run("systemctl", "stop", "port") // it may not be running
		s.Host.MustRun("systemd-run", "--quiet", "--collect", "--unit=port", "sh", "-c", "exec "+command)
	}
}

// runBehindRelay moves Puppet Server behind the relay and runs faults of the port. Puppet
// Server stays there: moving it back would take another reload.
func (s *faultSite) runBehindRelay(faults []fault) {
	s.t.Helper()
	s.writePortFiles()
	s.Host.MustRun("sed", "-i", "s/ssl-port: 8140/ssl-port: 8141/", "/etc/puppet/puppetserver/conf.d/webserver.conf")
	s.reload()
	takePort(relay)(s)
	for _, f := range faults {
		s.run(f)
	}
}

const nginxConf = `
daemon off;
pid /run/nginx.pid;
events {}
http {
    access_log off;
    server { %s }
}
`

// writePortFiles writes the files for the programs that take the port.
func (s *faultSite) writePortFiles() {
	s.t.Helper()
	name := s.Puppet.Certname()
	cert, key := foreignCert(s.t, name)
	s.Host.WriteFile("/root/foreign.pem", cert, 0o644)
	s.Host.WriteFile("/root/foreign.key", key, 0o600)
	s.Puppet.IssueCert(s.Host, "other.lab.example", nil)
	s.Host.MustRun("cp", certFile("other.lab.example"), "/root/other.pem")
	s.Host.MustRun("cp", keyFile("other.lab.example"), "/root/other.key")
	s.Host.WriteFile("/root/drip.sh", "printf '\\026'; while sleep 1; do printf '\\003'; done\n", 0o644) // starts like TLS
	s.Host.WriteFile("/root/plain.conf", fmt.Sprintf(nginxConf, "listen 8140;"), 0o644)
	s.Host.WriteFile("/root/proxy.conf", fmt.Sprintf(nginxConf, fmt.Sprintf(
		"listen 8140 ssl; ssl_certificate %s; ssl_certificate_key %s; location / { proxy_pass http://127.0.0.1:9; }",
		certFile(name), keyFile(name))), 0o644)
}

// foreignCert returns a certificate signed by an unknown CA, and its key, in PEM.
func foreignCert(t *testing.T, name string) (cert, key string) {
	t.Helper()
	ca, err := checktest.NewCA("Puppet CA: elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.Issue(checktest.Template{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	pem, err := leaf.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return string(leaf.CertificatePEM()), string(pem)
}
