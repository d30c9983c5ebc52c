package peers_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// An assignSite is examples/haproxy/assign: two simulated masters, a balancer on a host of its own, and a PuppetDB that
// says which node belongs to which master.
type assignSite struct {
	t       *testing.T
	net     *lab.Network
	ca      *lab.CA
	db, lb  *lab.Host
	masters map[string]*lab.Demo
	names   map[string]string // of masters, by the signature of their certificate
}

const (
	assignMap    = "/var/lib/haproxy/assign.map"
	assignScript = "/usr/local/sbin/haproxy-assign"
)

// nodesSQL writes what PuppetDB 7.12 stores of each node after replace_facts. Both hashes must be as long as SHA-1.
const nodesSQL = `
begin;
insert into environments (environment) values ('production') on conflict do nothing;
create temp table nodes on commit drop as
  select format('node%%s.example.com', i) as certname,
    decode(md5(i::text) || left(md5('more' || i), 8), 'hex') as hash,
    jsonb_build_object('networking', jsonb_build_object('ip', format('198.19.%%s.%%s', i / 250, i %% 250 + 1)),
      'puppet_master', format('puppet%%s', 2 - i %% 2)) as facts
  from generate_series(0, %d) i;
insert into certnames (certname) select certname from nodes;
insert into factsets (certname, timestamp, producer_timestamp, environment_id, hash, stable_hash, stable, volatile)
  select certname, now(), now(), (select id from environments), hash, hash, facts, '{}' from nodes;
commit;
`

// assigned and nodeAddress are what nodesSQL says.
func assigned(node int) string { return fmt.Sprintf("puppet%d", 2-node%2) }

func nodeAddress(node int) string { return fmt.Sprintf("198.19.%d.%d", node/250, node%250+1) }

func startAssignSite(t *testing.T) *assignSite {
	t.Helper()
	for program, from := range map[string]string{"haproxy": "haproxy", "jq": "jq", "socat": "socat", "curl": "curl"} {
		lab.Need(t, program, from)
	}
	s := &assignSite{
		t:       t,
		net:     network(t, first, second),
		ca:      lab.NewCA(t),
		masters: map[string]*lab.Demo{},
		names:   map[string]string{},
	}
	s.db = s.net.Boot("db")
	s.ca.Enroll(s.db)
	s.db.StartPuppetDB()
	addresses := s.net.Command("ip", "-batch", "-")
	var batch strings.Builder
	for node := range connecting {
		fmt.Fprintf(&batch, "address add %s/32 dev lab0\n", nodeAddress(node))
	}
	addresses.Stdin = strings.NewReader(batch.String())
	lab.Output(t, addresses)
	for name, address := range map[string]string{"puppet1": first, "puppet2": second} {
		s.masters[name] = lab.StartDemo(t, s.net, address)
		conn, err := s.dial(0, address)
		lab.Must(t, err)
		s.names[signature(conn)] = name
		conn.Close()
	}
	s.startBalancer(s.net.Boot("lb1"))
	s.waitForPuppetDB()
	return s
}

// startBalancer does what the comments in the example say.
func (s *assignSite) startBalancer(h *lab.Host) {
	s.t.Helper()
	s.lb = h
	s.ca.Enroll(h)
	h.MustRun("ip", "route", "add", "192.0.2.0/24", "via", lab.BridgeAddress)
	// With slowstart as it is, a master would need a minute to get all of its nodes back.
	quick := strings.Replace(lab.Read(s.t, example(s.t, "haproxy/assign/haproxy.cfg")), "slowstart 60s", "slowstart 5s", 1)
	h.WriteFile("/etc/haproxy/haproxy.cfg", quick, 0o644)
	for file, path := range map[string]string{
		"haproxy-assign.service": "/etc/systemd/system/haproxy-assign.service",
		"haproxy-assign.timer":   "/etc/systemd/system/haproxy-assign.timer",
	} {
		h.Copy(example(s.t, "haproxy/assign/"+file), path, 0o644)
	}
	s.configure(s.puppetdb())
	h.MustRun("install", "-m", "0644", "/dev/null", assignMap)
	// The tests start the unit more often than systemd allows, and do not wait for a minute.
	h.WriteFile("/etc/systemd/system/haproxy-assign.service.d/test.conf", "[Unit]\nStartLimitIntervalSec=0\n", 0o644)
	h.WriteFile("/etc/systemd/system/haproxy-assign.timer.d/test.conf",
		"[Timer]\nOnActiveSec=\nOnUnitInactiveSec=\nOnActiveSec=1s\nOnUnitInactiveSec=2s\n", 0o644)
	h.MustRun("systemctl", "daemon-reload")
	h.MustRun("systemctl", "restart", "haproxy")
	s.waitChecked()
}

// configure installs the script of the example for a PuppetDB at this address and the paths of Debian.
func (s assignSite) configure(puppetdb string) {
	s.t.Helper()
	s.lb.WriteFile(assignScript, strings.NewReplacer(
		"puppetdb.example.com:8081", puppetdb,
		"/etc/puppetlabs/puppet/ssl", "/var/lib/puppet/ssl",
		"lb1.example.com", s.lb.FQDN(),
	).Replace(lab.Read(s.t, example(s.t, "haproxy/assign/haproxy-assign.sh"))), 0o755)
}

func (s assignSite) puppetdb() string { return s.db.FQDN() + ":8081" }

func (s assignSite) waitForPuppetDB() {
	s.t.Helper()
	client := &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			TLSClientConfig: s.ca.TLS("test.lab.example"),
			DialContext:     s.net.DialContext,
		},
	}
	client.Transport.(*http.Transport).TLSClientConfig.ServerName = s.db.FQDN()
	lab.WaitFor(s.t, 5*time.Minute, 500*time.Millisecond, func() error {
		resp, err := client.Get("https://" + net.JoinHostPort(s.db.Address, "8081") + "/pdb/meta/v1/version")
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("PuppetDB answers %s", resp.Status)
		}
		return nil
	})
}

// loadNodes writes the nodes straight to the database: PuppetDB would need minutes for 10,000 commands.
func (s assignSite) loadNodes() { s.sql(fmt.Sprintf(nodesSQL, assignedNodes-1)) }

// setMaster changes the fact of a node.
func (s assignSite) setMaster(node int, master string) {
	s.sql(fmt.Sprintf(`update factsets set stable = jsonb_set(stable, '{puppet_master}', '%q')
		where certname = 'node%d.example.com'`, master, node))
}

func (s assignSite) sql(statements string) {
	s.t.Helper()
	psql := s.db.Command("runuser", "-u", "postgres", "--", "psql", "--port", "5433", "--no-psqlrc", "--quiet",
		"--set", "ON_ERROR_STOP=1", "--dbname", "puppetdb")
	psql.Stdin = strings.NewReader(statements)
	lab.Output(s.t, psql)
}

// assign runs the unit, which must succeed, and returns how long it took.
func (s assignSite) assign() time.Duration {
	began := time.Now()
	if out, err := s.lb.Run("systemctl", "start", "haproxy-assign.service"); err != nil {
		s.t.Errorf("%s: %v\n%s", out, err, s.lb.Journal("haproxy-assign"))
	}
	return time.Since(began)
}

func (s assignSite) reload() {
	s.t.Helper()
	s.lb.MustRun("systemctl", "reload", "haproxy")
	s.waitChecked()
}

// admin returns HAProxy's answer to a command.
func (s assignSite) admin(command string) (string, error) {
	return s.lb.Run("sh", "-c", "echo "+command+" | socat -t 10 - UNIX-CONNECT:/run/haproxy/admin.sock")
}

// inUse returns the map that HAProxy uses, master by address.
func (s assignSite) inUse() map[string]string {
	s.t.Helper()
	out, err := s.admin("show map " + assignMap)
	lab.Must(s.t, err)
	entries := map[string]string{}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) == 3 {
			entries[fields[1]] = fields[2]
		}
	}
	return entries
}

// assertSame asserts that HAProxy and the file have this map, and nothing else is beside the file.
func (s assignSite) assertSame(want map[string]string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.inUse()); diff != "" {
		s.t.Errorf("the map in use (-want +got):\n%s", diff)
	}
	file := map[string]string{}
	for line := range strings.Lines(s.lb.MustRun("cat", assignMap)) {
		address, master, _ := strings.Cut(strings.TrimSpace(line), " ")
		file[address] = master
	}
	if !maps.Equal(file, want) {
		s.t.Errorf("the file has %d entries, want %d, or other ones", len(file), len(want))
	}
	if files := s.lb.MustRun("sh", "-c", "echo "+assignMap+"*"); files != assignMap {
		s.t.Errorf("files: %s", files)
	}
}

func (s assignSite) stats() (stats map[string]lab.ServerStat) {
	s.t.Helper()
	waitFor(s.t, func() error {
		out, err := s.admin("show stat")
		if err != nil {
			return err
		}
		list, err := lab.ParseStats(out)
		stats = map[string]lab.ServerStat{}
		for _, stat := range list {
			if stat.Backend == "puppet" {
				stats[stat.Server] = stat
			}
		}
		return err
	})
	return stats
}

func (s assignSite) sessions(server string) int { return s.stats()[server].SessionsTotal }

func (s assignSite) waitStatus(server, status string) {
	s.t.Helper()
	waitFor(s.t, func() error {
		if got := s.stats()[server].Status; got != status {
			return fmt.Errorf("HAProxy says %s of %s, want %s", got, server, status)
		}
		return nil
	})
}

// waitChecked waits until HAProxy has asked both masters.
func (s assignSite) waitChecked() {
	s.t.Helper()
	waitFor(s.t, func() error {
		for _, stat := range s.stats() {
			if !stat.Healthy() {
				return fmt.Errorf("HAProxy's view is %+v", stat)
			}
		}
		return nil
	})
}

// A nodeConn is a connection of a node to a master.
type nodeConn struct {
	*tls.Conn
	master string
}

// dial connects from the address of a node to port 8140 of an address. HAProxy may have it wait for two minutes.
func (s assignSite) dial(node int, address string) (*tls.Conn, error) {
	var raw net.Conn
	err := s.net.Inside(func() (err error) {
		dialer := net.Dialer{
			Timeout:   30 * time.Second,
			LocalAddr: &net.TCPAddr{IP: net.ParseIP(nodeAddress(node))},
		}
		raw, err = dialer.Dial("tcp", net.JoinHostPort(address, "8140"))
		return err
	})
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
	err = errors.Join(conn.SetDeadline(time.Now().Add(2*time.Minute)), conn.Handshake())
	if err != nil {
		raw.Close()
	}
	return conn, err
}

func signature(conn *tls.Conn) string {
	return string(conn.ConnectionState().PeerCertificates[0].Signature)
}

// connect connects from the address of a node through the balancer.
func (s assignSite) connect(node int) (nodeConn, error) {
	conn, err := s.dial(node, s.lb.Address)
	if err != nil {
		return nodeConn{}, err
	}
	return nodeConn{Conn: conn, master: s.names[signature(conn)]}, nil
}

func (s assignSite) mustConnect(node int) nodeConn {
	s.t.Helper()
	conn, err := s.connect(node)
	lab.Must(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	return conn
}

// request sends a request over the connection.
func (c nodeConn) request() error {
	if _, err := c.Write([]byte("GET /status/v1/simple HTTP/1.1\r\nHost: puppet.example.com\r\n\r\n")); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// runAgent makes three requests over one connection, with a pause in between, as an agent's run does.
func (s assignSite) runAgent(node int) (master string, err error) {
	conn, err := s.connect(node)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	for range 3 {
		if err := conn.request(); err != nil {
			return conn.master, err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return conn.master, nil
}

// mastersOf makes so many connections, all of them open at the same time, and returns how many each master got.
func (s assignSite) mastersOf(node, connections int) map[string]int {
	s.t.Helper()
	got := map[string]int{}
	for range connections {
		conn, err := s.connect(node)
		lab.Must(s.t, err)
		defer conn.Close()
		got[conn.master]++
	}
	return got
}

// waitGoesTo waits until a node goes to a master, and to no other: leastconn alone would alternate. Each connection
// ends before the next, since slowstart lets a returning master have few at a time.
func (s assignSite) waitGoesTo(node int, master string) {
	s.t.Helper()
	waitFor(s.t, func() error {
		for range 4 {
			if got := s.mastersOf(node, 1); got[master] != 1 {
				return fmt.Errorf("node %d goes to %v, want %s", node, got, master)
			}
		}
		return nil
	})
}
