//go:build linux

package e2e_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestNamesBehindOneAddress: HAProxy 2.6 and 3.0 tell backends apart by the name in the
// handshake, and mutual TLS stays between the agent and the master: each verifies the other.
func TestNamesBehindOneAddress(t *testing.T) {
	lab.Real(t)
	e := &example{t: t, file: "names.cfg", network: "127.18.7"}
	agent := new(tls.Config)
	for _, host := range []string{"11", "12", "21", "22"} {
		site := lab.NewSite(t, lab.SiteOptions{Listen: e.where(host, "9200"), YAML: "services: [ca]\n"})
		if agent.Certificates == nil { // the masters have one CA
			agent.Certificates, agent.RootCAs = identity(t, site)
		}
		serveMutualTLS(t, e.where(host, "8140"), host, agent)
		site.Start()
		site.WaitServing(20 * time.Second)
	}
	e.text = e.rewrite(lab.ReadFile(t, "examples/haproxy/names.cfg"))
	e.start()
	e.testNames(agent)
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
		"canary.example.com":       {"21"},
		"puppet-north.example.com": {"22"},
		"north.example.com":        {"11", "12"},
	} {
		host, err := askByName(e.where("1", "8140"), name, agent)
		if err != nil || !slices.Contains(want, host) {
			e.t.Errorf("the name %q leads to %q, %v; want one of %v", name, host, err, want)
		}
	}
	anonymous := &tls.Config{RootCAs: agent.RootCAs}
	if host, err := askByName(e.where("1", "8140"), "canary.example.com", anonymous); err == nil {
		e.t.Errorf("master %s serves an agent without a certificate", host)
	}
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
