//go:build linux

package peers_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestStickyNodesKeepTheirMaster runs examples/haproxy/assign/sticky.cfg.
func TestStickyNodesKeepTheirMaster(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	n := network(t, first, second, balanced)
	one := lab.StartDemo(t, n, first)
	lab.StartDemo(t, n, second)
	shown := map[string]string{}
	for _, address := range []string{first, second} {
		is, err := signature(n, address)
		if err != nil {
			t.Fatal(err)
		}
		shown[is] = address
	}
	config := strings.ReplaceAll(lab.Read(t, example(t, "haproxy/assign/sticky.cfg")), "bind :", "bind "+balanced+":")
	config = strings.ReplaceAll(config, "slowstart 60s", "slowstart 5s")
	lab.CheckHAProxyConfig(t, config)
	h := n.StartHAProxy(t, config)
	for _, name := range []string{"puppet1", "puppet2"} {
		h.WaitStat("puppet", name, func(s lab.ServerStat) bool { return s.Status == "UP" && s.CheckCode == "200" },
			20*time.Second)
	}

	const nodes = 40
	for i := range nodes {
		must(t, n.Command("ip", "address", "add", nodeAddress(i)+"/32", "dev", "lab0"))
	}
	masters := func() (got map[int]string, of map[string]int) {
		t.Helper()
		got, of = map[int]string{}, map[string]int{}
		for i := range nodes {
			conn, err := dialFrom(n, nodeAddress(i), net.JoinHostPort(balanced, "8140"))
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			got[i] = shown[signatureOf(conn)]
			of[got[i]]++
		}
		return got, of
	}
	before, of := masters()
	t.Logf("%d nodes: %v", nodes, of)
	if len(of) != 2 {
		t.Errorf("every node has the same master: %v", of)
	}
	if again, _ := masters(); !maps.Equal(before, again) {
		t.Errorf("nodes have moved: %v, then %v", before, again)
	}
	one.Type("drain", "drain")
	h.WaitStatus("puppet", "puppet1", "NOLB", 20*time.Second)
	if _, of := masters(); of[second] != nodes {
		t.Errorf("while %s is drained, nodes go to %v", first, of)
	}
	one.Type("ready", serving)
	// With slowstart the master gets its nodes back step by step.
	lab.WaitFor(t, 30*time.Second, time.Second, func() error {
		if again, of := masters(); !maps.Equal(before, again) {
			return fmt.Errorf("after the drain, nodes go to %v", of)
		}
		return nil
	})
}

// dialFrom makes a TLS connection from one of the network's addresses.
func dialFrom(n *lab.Network, from, to string) (*tls.Conn, error) {
	var raw net.Conn
	err := n.Inside(func() (err error) {
		dialer := net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		raw, err = dialer.Dial("tcp", to)
		return err
	})
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
	err = errors.Join(conn.SetDeadline(time.Now().Add(30*time.Second)), conn.Handshake())
	if err != nil {
		raw.Close()
		return nil, err
	}
	return conn, conn.SetDeadline(time.Time{})
}

// signatureOf identifies the simulated master at the other end; see signature.
func signatureOf(conn *tls.Conn) string {
	return string(conn.ConnectionState().PeerCertificates[0].Signature)
}
