//go:build linux

package e2e_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestRolesBehindOneAddress: HAProxy tells backends apart by the name in the handshake, and mutual TLS stays
// between the agent and the master: each verifies the other. A fault or a hold in one role does not change the others.
func TestRolesBehindOneAddress(t *testing.T) {
	lab.Real(t)
	e := newExample(t, "roles.cfg", 7)
	agent := new(tls.Config)
	serve := func(host string, site *lab.Site) {
		if agent.Certificates == nil { // the masters have one CA
			agent.Certificates, agent.RootCAs = identity(t, site)
		}
		serveMutualTLS(t, e.where(host, "8140"), host, agent)
		startEchoAt(t, e.where(host, "8081"))
	}
	const services, puppetdb = "services: [ca]", "puppetdb: {address: localhost:8081}"
	for _, setting := range []string{services, puppetdb} {
		if !strings.Contains(e.text, strconv.Quote(setting)) {
			t.Errorf("the example does not print %q, which this test tries", setting)
		}
	}
	for _, host := range []string{"11", "12", "21", "22"} {
		e.startMaster(host, services+"\n"+puppetdb+"\n", serve)
	}
	e.start()
	e.testNames(agent)
	e.testApart(agent)
	if everything() {
		e.haproxy.Stop() // its addresses are needed
		for _, later := range lab.Releases("trixie") {
			e.use(later.StartChroot(t).StartHAProxy(e.text))
			e.testNames(agent)
		}
	}
}

// testNames connects by each name.
func (e *example) testNames(agent *tls.Config) {
	e.t.Helper()
	for name, want := range map[string][]string{
		"puppet.example.com":       {"11", "12"},
		"":                         {"11", "12"},
		"puppetca.example.com":     {"11"},
		"PUPPETCA.example.com":     {"11"},
		"puppetreport.example.com": {"21"},
		"canary.example.com":       {"22"},
		"report.example.com":       {"11", "12"},
	} {
		e.assertLeads(name, agent, want...)
	}
	anonymous := &tls.Config{RootCAs: agent.RootCAs}
	if host, err := askByName(e.where("1", "8140"), "canary.example.com", anonymous); err == nil {
		e.t.Errorf("master %s serves an agent without a certificate", host)
	}
}

func (e *example) assertLeads(name string, agent *tls.Config, want ...string) {
	e.t.Helper()
	host, err := askByName(e.where("1", "8140"), name, agent)
	if err != nil || !slices.Contains(want, host) {
		e.t.Errorf("the name %q leads to %q, %v; want one of %v", name, host, err, want)
	}
}

// testApart takes puppet1 out of one role after the other.
func (e *example) testApart(agent *tls.Config) {
	e.t.Helper()
	first := e.sites[0]
	first.Master.SetService("ca", "error")
	e.waitFor("CA in error", "DOWN", 10*time.Second, "puppetca/puppet1")
	first.Master.SetService("ca", "running")
	first.Master.SetPuppetDB("error")
	if _, status := first.Run("drain", "--hold", "catalogs", "--service", "server"); status != 0 {
		e.t.Errorf("exit status of drain --service server %d, want 0", status)
	}
	e.waitFor("drain --service server", "NOLB", 3*time.Second, "puppet/puppet1")
	e.waitFor("CA running again", "UP", 10*time.Second, "puppetca/puppet1")
	e.waitFor("PuppetDB cannot write", "DOWN", 25*time.Second, "puppetdb/puppet1")
	e.assertLeads("puppet.example.com", agent, "12")
	e.assertLeads("puppetca.example.com", agent, "11")
	if !startSession(e.t, e.where("1", "8081")).carries() {
		e.t.Error("192.0.2.1:8081 carries no session while one PuppetDB is out")
	}
	if _, status := first.Run("drain"); status != 7 {
		e.t.Errorf("the exit status of drain, of the only CA, is %d, want 7", status)
	}
	first.MustRun("ready", "--hold", "catalogs", "--service", "server")
	first.Master.SetPuppetDB("running")
	e.waitFor("PuppetDB writes again", "UP", 25*time.Second, "puppet/puppet1", "puppetdb/puppet1")
}

// identity returns the certificate of a stand-in, which agents show too, and its CA.
func identity(t *testing.T, site *lab.Site) ([]tls.Certificate, *x509.CertPool) {
	t.Helper()
	files := site.Master.Files()
	pair, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := os.ReadFile(files.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	return []tls.Certificate{pair}, roots
}

// serveMutualTLS serves agents whose certificate is of the CA. It sends them host.
func serveMutualTLS(t *testing.T, address, host string, own *tls.Config) {
	t.Helper()
	l, err := tls.Listen("tcp", address, &tls.Config{
		Certificates: own.Certificates,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    own.RootCAs,
	})
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, func(c net.Conn) { io.WriteString(c, host) })
}

// askByName connects to an address as an agent does to a name, and returns what the master
// sends. It verifies the master with the CA of the agent.
func askByName(address, name string, agent *tls.Config) (host string, err error) {
	c, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	client := tls.Client(c, &tls.Config{
		ServerName:         name,
		InsecureSkipVerify: true, // below, for the certificates of the stand-ins have another name
		Certificates:       agent.Certificates,
		VerifyConnection: func(s tls.ConnectionState) error {
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: lab.StandInName, Roots: agent.RootCAs})
			return err
		},
	})
	answer, err := io.ReadAll(client)
	return string(answer), err
}
