package peers_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// webserver replaces Debian's webserver.conf, with nothing but what the example asks for.
const webserver = `webserver: {
    host: 0.0.0.0
    port: 8140
}
`

// TestAgentBehindTLSOffload: with examples/haproxy/offload, a real agent gets its certificate and its catalog, a client
// cannot claim to be that agent, and a drain of the master ends.
func TestAgentBehindTLSOffload(t *testing.T) {
	t.Parallel()
	n := realNetwork(t)
	master := startMaster(t, n, "m1", first, "probe: {address: 'http://localhost:8140'}\n", lab.PuppetMasterOptions{})
	master.WaitReady(5 * time.Minute)
	h := master.Host
	dir := t.TempDir()
	readSSL := func(name string) string { return h.MustRun("cat", "/var/lib/puppet/ssl/"+name) + "\n" }
	const balancer = "puppet.example.com"
	master.IssueCert(h, balancer, nil)
	lab.Write(t, filepath.Join(dir, "puppet.pem"),
		readSSL("certs/"+balancer+".pem")+readSSL("private_keys/"+balancer+".pem"))
	lab.Write(t, filepath.Join(dir, "ca.pem"), readSSL("certs/ca.pem"))
	lab.Write(t, filepath.Join(dir, "crl.pem"), readSSL("crl.pem"))
	h.WriteFile("/etc/puppet/puppetserver/conf.d/webserver.conf", webserver, 0o644)
	h.WriteFile("/etc/puppet/puppetserver/conf.d/offload.conf", "authorization.allow-header-cert-info: true\n", 0o644)
	master.SetSitePP(`notify { "compiled by ${trusted['certname']}, ${trusted['authenticated']}": }` + "\n")
	h.MustRun("systemctl", "restart", "puppetserver")

	config := strings.ReplaceAll(lab.Read(t, example(t, "haproxy/offload/haproxy.cfg")), "/etc/haproxy", dir)
	config = strings.ReplaceAll(config, "/run/haproxy/admin.sock", filepath.Join(dir, "admin.sock"))
	haproxy := n.StartHAProxy(t, config)
	haproxy.WaitStatus("puppet", "puppet1", "UP", 3*time.Minute)
	h.MustRun("sh", "-c", "echo "+front+" "+balancer+" >>/etc/hosts")
	runAgent(t, h, []string{"--server", balancer}, "compiled by "+agentName+", remote")

	for _, claim := range []http.Header{
		{"X-Client-Verify": {"SUCCESS"}, "X-Client-DN": {"CN=" + agentName}},
		{"x-client-verify": {"SUCCESS"}, "x-client-dn": {"/CN=" + agentName}},
	} {
		code, status, err := askAs(n, claim, nil)
		if code != http.StatusForbidden || err != nil {
			t.Errorf("a client that claims %v is answered %q, %v, want 403", claim, status, err)
		}
	}
	foreign := lab.NewCA(t).TLS(agentName).Certificates[0]
	if code, _, err := askAs(n, nil, &foreign); err == nil {
		t.Errorf("a certificate of another CA is answered %d", code)
	}

	h.MustRun("pmcheck", "drain", "--wait", "--force", "--timeout", "1m")
	if status := haproxy.Status("puppet", "puppet1"); status != "NOLB" {
		t.Errorf("HAProxy says %s of the drained master, want NOLB", status)
	}
	h.MustRun("pmcheck", "ready", "--wait", "--timeout", "1m")
}

// askAs asks for the agent's node through HAProxy, which an agent may do for itself only.
func askAs(n *lab.Network, header http.Header, cert *tls.Certificate) (code int, status string, err error) {
	config := &tls.Config{InsecureSkipVerify: true}
	if cert != nil { // unlike Certificates, this is sent to a server that does not ask for its CA
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	client := &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{DialContext: n.DialContext, TLSClientConfig: config},
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequest(http.MethodGet,
		fmt.Sprintf("https://%s:8140/puppet/v3/node/%s?environment=production", front, agentName), nil)
	if err != nil {
		return 0, "", err
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header["Accept"] = []string{"application/json"}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	return resp.StatusCode, resp.Status, nil
}
