package monitor

import (
	"net"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestRefusedPortNamesWhereTheMasterMayListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.9:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())

	const there = ": if Puppet Server listens there, set probe.address"
	for _, tt := range []struct {
		name       string
		address    string
		serverPort string
		want       string // what is said beside "refused"
	}{
		{"another address", "127.0.0.1:" + port, "", "; " + port + " is open on 127.0.0.9 only" + there},
		{"the same port", "127.0.0.1:" + port, port, "; " + port + " is open on 127.0.0.9 only" + there},
		{"another port", "127.0.0.1:" + port, "8141", "; puppet.conf has serverport 8141" + there},
		{"a hostile port", "127.0.0.1:1", "\x1b8\n1" + strings.Repeat("4", 99),
			"; puppet.conf has serverport 8 1" + strings.Repeat("4", 17) + there},
		{"nowhere", "127.0.0.1:1", "", ""},
	} {
		c := config.Default().Probe
		c.Address, c.ServerPort = tt.address, tt.serverPort
		p := newProber(c, &puppetclient.Credentials{}, "")
		want := "connection to " + tt.address + " refused" + tt.want
		if r := p.Probe(t.Context()); r.Fault == nil || r.Fault.Reason != puppetclient.Refused || r.Fault.Error() != want {
			t.Errorf("%s: %v, want %q", tt.name, r.Fault, want)
		}
		p.Close()
	}
}
