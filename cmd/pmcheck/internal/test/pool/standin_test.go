//go:build linux

package pool_test

import (
	"fmt"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// quickServer answers as Puppet Server does, as far as agents and pmcheck ask, and
// starts within a second. It takes the certificate of the master whose place it takes.
const quickServer = `import ssl, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def answer(self):
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        code, text = 200, b'{}'
        if self.path.startswith('/status/v1/simple'):
            text = b'running'
        elif self.path.startswith('/status/'):
            code, text = 404, b'not found'
        elif '/catalog/slow' in self.path:
            time.sleep(20)
        elif '/catalog/' in self.path:
            time.sleep(1)
        self.send_response(code)
        self.send_header('Content-Type', 'text/plain')
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    do_GET = do_POST = do_PUT = answer
    def log_message(self, *args): pass

name, ssldir = sys.argv[1], '%s'
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f'{ssldir}/certs/{name}.pem', f'{ssldir}/private_keys/{name}.pem')
context.load_verify_locations(f'{ssldir}/certs/ca.pem')
context.verify_mode = ssl.CERT_OPTIONAL

class Server(ThreadingHTTPServer):
    request_queue_size = 100
    def finish_request(self, request, address):
        with context.wrap_socket(request, server_side=True) as wrapped:
            self.RequestHandlerClass(wrapped, address, self)
    def handle_error(self, request, address): pass

Server(('', 8140), Handler).serve_forever()
`

// startStandIns starts a pool whose Puppet Servers are stand-ins in the same unit, which
// start within a second. How long a balancer has no server depends on the guards, and not
// on what they guard; real Puppet Servers take minutes for each try.
func startStandIns(t *testing.T, masters int, m mix) *pool {
	t.Helper()
	p := &pool{t: t, life: t, net: lab.StartNetwork(t), debs: map[string]string{older: lab.DEB(t, older)},
		standIns: map[string][]agent{}, directory: &directory{leads: map[endpoint]endpoint{}}}
	for i := range 2 {
		p.addAddress(balancerEnd(i).ip())
	}
	ca := lab.NewCA(t)
	for i := range masters {
		host := p.net.Boot(fmt.Sprintf("m%d", i+1))
		ca.Enroll(host, service)
		host.WriteFile("/etc/puppet/puppet.conf",
			"[main]\ncertname = "+host.FQDN()+"\nserver = "+host.FQDN()+"\n", 0o644)
		host.WriteFile("/usr/local/bin/quick-server", fmt.Sprintf(quickServer, sslDir), 0o644)
		host.WriteFile("/etc/systemd/system/puppetserver.service.d/quick.conf", `[Service]
Type=exec
ExecStart=
ExecStart=/usr/bin/python3 /usr/local/bin/quick-server `+host.FQDN()+`
ExecStartPost=
`, 0o644)
		host.MustRun("systemctl", "daemon-reload")
		host.MustRun("systemctl", "enable", "--now", "puppetserver")
		p.masters = append(p.masters, &lab.PuppetMaster{Host: host})
	}
	for i := range m.quick {
		name := fmt.Sprintf("%s%d.lab.example", quick, i)
		settings := ca.TLS(name)
		settings.ServerName = service
		p.standIns[quick] = append(p.standIns[quick], standIn{name, settings, p.net, p.directory})
	}
	return p
}
