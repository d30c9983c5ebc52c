package tcp

import (
	"net/netip"
	"testing"
)

func TestListenerOnTheAddressPrecedesAWildcard(t *testing.T) {
	addrs := func(list ...string) map[netip.Addr]bool {
		parsed := map[netip.Addr]bool{}
		for _, a := range list {
			parsed[netip.MustParseAddr(a)] = true
		}
		return parsed
	}
	for _, tt := range []struct {
		name      string
		addr      string
		listeners map[netip.Addr]bool
		want      string // empty: none
	}{
		{"its own", "127.0.0.1", addrs("127.0.0.1"), "127.0.0.1"},
		{"its own before every address", "192.0.2.9", addrs("0.0.0.0", "192.0.2.9"), "192.0.2.9"},
		{"every IPv4 address", "192.0.2.9", addrs("0.0.0.0", "192.0.2.8"), "0.0.0.0"},
		{"every address of both families", "192.0.2.9", addrs("::"), "::"},
		{"IPv4 before both families", "192.0.2.9", addrs("::", "0.0.0.0"), "0.0.0.0"},
		{"IPv6", "2001:db8::1", addrs("0.0.0.0", "::"), "::"},
		{"another's", "192.0.2.9", addrs("192.0.2.8"), ""},
		{"no IPv6", "::1", addrs("0.0.0.0"), ""},
		{"none", "192.0.2.9", nil, ""},
	} {
		got, found := listenerOf(netip.MustParseAddr(tt.addr), tt.listeners)
		if found != (tt.want != "") || found && got.String() != tt.want {
			t.Errorf("%s: %s, %v; want %q", tt.name, got, found, tt.want)
		}
	}
}

func TestConnectionsOutliveTheirListener(t *testing.T) {
	list := []Connection{{Local: netip.MustParseAddr("192.0.2.1")}}
	if got := ofServer(list, nil, addresses("localhost")); len(got) != 1 {
		t.Error("the connections of a server that has closed its port do not count")
	}
}
