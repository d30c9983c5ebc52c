package cli

import (
	"net"
	"slices"
	"testing"
)

func TestConnectedCounts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, want := range [][]string{
		nil,
		{"1 connection in use, from 127.0.0.1"},
		{"2 connections in use, one from 127.0.0.1"},
	} {
		if got := connected(l.Addr().String(), nil, forever); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
		if _, err := accepted.Write([]byte("x")); err != nil { // the kernel counts from there how long it is idle
			t.Fatal(err)
		}
	}
}
