//go:build linux

package peers_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// An assignSite is examples/haproxy/assign: two simulated masters, two balancers on hosts
// of their own, and a PuppetDB that says which node belongs to which master.
type assignSite struct {
	t         *testing.T
	net       *lab.Network
	ca        *lab.CA
	client    *http.Client // of PuppetDB
	db        *lab.PuppetDB
	balancers []*lab.Host
	masters   map[string]*lab.Demo
	shown     map[string]string // master by the signature of its certificate
}

// assignInterval replaces the minute in the timer.
const assignInterval = 5 * time.Second

const (
	assignMap  = "/etc/haproxy/assign/nodes.map"
	assignConf = "/etc/haproxy/assign/haproxy-assign.conf"
)

func startAssignSite(t *testing.T) *assignSite {
	t.Helper()
	lab.Need(t, "haproxy", "haproxy")
	s := &assignSite{
		t:       t,
		net:     network(t, first, second),
		ca:      lab.NewCA(t),
		masters: map[string]*lab.Demo{},
		shown:   map[string]string{},
	}
	s.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: s.ca.TLS("test.lab.example"),
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return s.net.DialContext(ctx, network, s.db.Address())
		},
	}}
	db := s.net.Boot("db")
	s.ca.Enroll(db)
	s.db = db.StartPuppetDB()
	for name, address := range map[string]string{"puppet1": first, "puppet2": second} {
		s.masters[name] = lab.StartDemo(t, s.net, address)
		is, err := signature(s.net, address)
		if err != nil {
			t.Fatal(err)
		}
		s.shown[is] = name
	}
	s.startBalancer(s.net.Boot("lb1"))
	s.startBalancer(s.net.BootRelease("trixie", "lb2")) // with HAProxy 3.0
	return s
}

// startBalancer does what README.md in the example says.
func (s *assignSite) startBalancer(h *lab.Host) {
	s.t.Helper()
	s.ca.Enroll(h)
	h.MustRun("ip", "route", "add", "192.0.2.0/24", "via", lab.BridgeAddress)
	for file, path := range map[string]string{
		"haproxy.cfg":            "/etc/haproxy/haproxy.cfg",
		"haproxy-assign.service": "/etc/systemd/system/haproxy-assign.service",
		"haproxy-assign.timer":   "/etc/systemd/system/haproxy-assign.timer",
	} {
		h.Copy(example(s.t, "haproxy/assign/"+file), path, 0o644)
	}
	h.Copy(example(s.t, "haproxy/assign/haproxy-assign.py"), "/usr/local/sbin/haproxy-assign", 0o755)
	h.WriteFile(assignMap, "", 0o644)
	s.configure(h, net.JoinHostPort(s.db.Host.FQDN(), "8081"))
	h.WriteFile("/etc/systemd/system/haproxy-assign.timer.d/test.conf",
		fmt.Sprintf("[Timer]\nOnUnitActiveSec=\nOnBootSec=10s\nOnUnitActiveSec=%v\n", assignInterval), 0o644)
	// The tests start the unit more often than systemd allows.
	h.WriteFile("/etc/systemd/system/haproxy-assign.service.d/test.conf", "[Unit]\nStartLimitIntervalSec=0\n", 0o644)
	h.MustRun("systemctl", "daemon-reload")
	h.MustRun("systemctl", "start", "haproxy")
	s.waitForServers(h)
	s.balancers = append(s.balancers, h)
}

// waitForServers waits until HAProxy has asked both masters. It starts with each server UP,
// but one check away from DOWN: a check that this machine delays for 2 s is enough.
func (s *assignSite) waitForServers(h *lab.Host) {
	s.t.Helper()
	lab.WaitFor(s.t, 30*time.Second, 100*time.Millisecond, func() error {
		stats, err := lab.ParseStats(strings.NewReader(admin(h, "show stat")))
		if err != nil {
			return err
		}
		for _, stat := range stats {
			if stat.Backend == "puppet" && (stat.Status != "UP" || stat.CheckCode != "200") {
				return fmt.Errorf("%s: %s is %s, %s %s", h.Name, stat.Server, stat.Status, stat.CheckStatus, stat.CheckDesc)
			}
		}
		return nil
	})
}

// configure writes the configuration of a balancer that asks a PuppetDB at this address.
func (s *assignSite) configure(h *lab.Host, puppetdb string) {
	s.t.Helper()
	h.WriteFile(assignConf, strings.NewReplacer(
		"puppetdb.example.com:8081", puppetdb,
		"/etc/puppetlabs/puppet/ssl", "/var/lib/puppet/ssl",
		"lb1.example.com", h.FQDN(),
	).Replace(lab.Read(s.t, example(s.t, "haproxy/assign/haproxy-assign.conf"))), 0o644)
}

// waitForPuppetDB waits until PuppetDB answers queries.
func (s *assignSite) waitForPuppetDB() {
	s.t.Helper()
	took := lab.WaitFor(s.t, 5*time.Minute, 500*time.Millisecond, func() error {
		resp, err := s.client.Get(s.puppetdb("/pdb/meta/v1/version"))
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("PuppetDB answers %s", resp.Status)
		}
		return nil
	})
	s.t.Logf("PuppetDB answers %v after the last host has booted", took.Round(time.Second))
}

func (s *assignSite) puppetdb(path string) string {
	return "https://" + net.JoinHostPort(s.db.Host.FQDN(), "8081") + path
}

// admin returns HAProxy's answer to a command.
func admin(h *lab.Host, command string) string {
	return h.MustRun("sh", "-c", "echo "+command+" | socat -t 10 - /run/haproxy/admin.sock")
}

// show returns the map that HAProxy uses, one "address server" a line.
func (s *assignSite) show(h *lab.Host) []string {
	s.t.Helper()
	var entries []string
	for line := range strings.Lines(admin(h, "show map "+assignMap)) {
		if fields := strings.Fields(line); len(fields) == 3 {
			entries = append(entries, fields[1]+" "+fields[2])
		}
	}
	return entries
}

// A nodeConn is a connection of a node to a master.
type nodeConn struct {
	*tls.Conn
	master string
}

// connect connects from the address of a node through a balancer.
func (s *assignSite) connect(node int, h *lab.Host) (nodeConn, error) {
	conn, err := dialFrom(s.net, nodeAddress(node), net.JoinHostPort(h.Address, "8140"))
	if err != nil {
		return nodeConn{}, err
	}
	return nodeConn{conn, s.shown[signatureOf(conn)]}, nil
}

// works sends a request over the connection.
func (c nodeConn) works() error {
	if _, err := c.Write([]byte("GET /status/v1/simple HTTP/1.1\r\nHost: puppet.example.com\r\n\r\n")); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// goesTo returns an error unless each balancer sends the node to this master.
func (s *assignSite) goesTo(node int, master string) error {
	for _, h := range s.balancers {
		for range 3 { // leastconn would alternate
			conn, err := s.connect(node, h)
			if err != nil {
				s.t.Fatalf("node %d through %s: %v", node, h.Name, err)
			}
			conn.Close()
			if conn.master != master {
				return fmt.Errorf("%s sends node %d to %s", h.Name, node, conn.master)
			}
		}
	}
	return nil
}
