// Package haproxy writes the backend section for HAProxy that fits a
// configuration, with a comment on each line.
package haproxy

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// Backend is a pool of masters.
type Backend struct {
	Name     string
	Servers  []Server
	Graceful bool          // a drain is a 404
	Inter    time.Duration // between two checks
	Fall     int           // checks in a row until a master is DOWN
	Settings config.Config // of pmcheck on the masters
}

// Server is one master: its name, and the host:port of Puppet Server.
type Server struct{ Name, Address string }

// agentPort is the port for agent-checks; empty if they are not answered.
func (b Backend) agentPort() string { return portOf(b.Settings.Agent.Listen) }

// portOf returns the port of a valid address; none of an empty one.
func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// ParseServer reads NAME=ADDRESS, an address, or an entry of fleet. The port
// of an entry of fleet is pmcheck's; Puppet's is 8140 unless NAME=ADDRESS says
// otherwise.
func ParseServer(text string) (Server, error) {
	name, address, named := strings.Cut(text, "=")
	if !named {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			text = u.Host
		}
		if host, _, err := net.SplitHostPort(text); err == nil {
			text = host
		}
		name, address = strings.Trim(text, "[]"), net.JoinHostPort(strings.Trim(text, "[]"), "8140")
	} else if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), "8140")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || !PlainWord(name) && net.ParseIP(name) == nil || !PlainWord(host) && net.ParseIP(host) == nil || !PlainWord(port) {
		return Server{}, fmt.Errorf("%q: write NAME=ADDRESS, for example puppet1=192.0.2.11", text)
	}
	return Server{strings.ReplaceAll(name, ":", "-"), address}, nil
}

// PlainWord reports whether a word means nothing but itself in haproxy.cfg.
func PlainWord(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// Write writes the section.
func (b Backend) Write(w io.Writer) {
	line := func(comment, text string) {
		if comment != "" {
			fmt.Fprintf(w, "    # %s\n", comment)
		}
		fmt.Fprintf(w, "    %s\n", text)
	}
	fmt.Fprintf(w, "backend %s\n", b.Name)
	line("Puppet's mutual TLS goes through unseen, so layer 4 it is.", "mode tcp")
	line("Catalogs take unequal time: the master with the fewest connections is next.", "balance leastconn")
	line("A connection that one master refuses is tried at another.", "option redispatch 1")
	line("Longer than the slowest catalog takes: meanwhile nothing moves.", "timeout server 30m")
	line("", "timeout connect 5s")
	line("A check is one packet each way; pmcheck answers from memory.", fmt.Sprintf("timeout check %s", haproxyTime(min(b.Inter, 2*time.Second))))
	b.writeQuestion(line)
	line("Tells pmcheck what HAProxy makes of the master: drain --wait and the last-server guard need it.", "http-check send-state")
	b.writeDefaults(line)
	for _, s := range b.Servers {
		line("", fmt.Sprintf("server %s %s", s.Name, s.Address))
	}
}

// writeQuestion writes what HAProxy asks. With agent-checks it hears of holds by
// those, and asks for health alone: two answers to one hold would contend.
func (b Backend) writeQuestion(line func(comment, text string)) {
	switch {
	case b.agentPort() != "":
		line("200 is fit; what operators want is told by the agent-check below.", "option httpchk GET /?drain=200&maint=200")
	case b.Graceful:
		line("A drained master answers 404: no new connections from the next check on, no alert.", "option httpchk GET /?drain=404")
		line("", "http-check disable-on-404")
	default:
		line("200 is fit; 503 is not, or held by an operator.", "option httpchk GET /")
	}
}

// writeDefaults writes what all servers have in common.
func (b Backend) writeDefaults(line func(comment, text string)) {
	d := b.Settings.Detection(b.Inter, b.Fall)
	check := "check port " + portOf(b.Settings.Listen)
	if b.Settings.TLS != config.TLSOff {
		check += " check-ssl verify none"
	}
	line(fmt.Sprintf("DOWN at the latest %.1f s after a master is killed, %.1f s after it stops answering.", d.Killed.Seconds(), d.Silent.Seconds()),
		fmt.Sprintf("default-server %s inter %s fall %d rise 2", check, haproxyTime(b.Inter), b.Fall))
	if b.agentPort() != "" {
		line("A held master is DRAIN or MAINT from the next agent-check on, and no alert is raised.",
			fmt.Sprintf("default-server agent-check agent-port %s agent-inter %s", b.agentPort(), haproxyTime(b.Inter)))
	}
	if b.agentPort() != "" && b.Settings.Agent.Weight {
		line("What agent-checks say is a part of this, so it is large. A master that comes back begins with a low one by itself.",
			"default-server weight 100")
		return
	}
	line("A master that comes back gets its share bit by bit. Of a weight of 1 HAProxy would tell pmcheck no part.",
		"default-server weight 100 slowstart 60s")
}

// haproxyTime writes a duration as HAProxy reads it: a whole number and a unit.
func haproxyTime(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", d.Milliseconds())
}
