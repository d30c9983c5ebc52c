// Package haproxy writes the backend section for HAProxy that fits a
// configuration, with a comment on each line.
package haproxy

import (
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"text/template"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// section is the template. With agent-checks, HAProxy learns of holds from them, and its
// health check asks for the verdict only: the two answers to a hold would conflict.
//
//go:embed backend.tmpl
var section string

// Backend is a pool of masters.
type Backend struct {
	Name     string
	Servers  []Server
	Graceful bool          // a drained master answers 404
	Inter    time.Duration // between two checks
	Fall     int           // failed checks in a row until a master is DOWN
	Settings config.Config // of pmcheck on the masters
}

// Server is one master: its name, and the host:port of Puppet Server.
type Server struct{ Name, Address string }

// portOf returns the port of a valid address, or "" for an empty one.
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
		name, address = strings.Trim(text, "[]"), text
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), "8140")
	}
	plain := func(word string) bool { return PlainWord(word) || net.ParseIP(word) != nil }
	host, port, err := net.SplitHostPort(address)
	if err != nil || !plain(name) || !plain(host) || !PlainWord(port) {
		return Server{}, fmt.Errorf("%q: write NAME=ADDRESS, for example puppet1=192.0.2.11", text)
	}
	return Server{strings.ReplaceAll(name, ":", "-"), address}, nil
}

// PlainWord reports whether a word has no characters with a meaning in haproxy.cfg.
func PlainWord(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// Write writes the section.
func (b Backend) Write(w io.Writer) error {
	t, err := template.New("backend.tmpl").Funcs(template.FuncMap{
		"port":      portOf,
		"time":      haproxyTime,
		"checkTime": func(inter time.Duration) string { return haproxyTime(min(inter, 2*time.Second)) },
		"seconds":   func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) },
	}).Parse(section)
	if err != nil {
		return err
	}
	return t.Execute(w, b)
}

// haproxyTime writes a duration as HAProxy reads it: a whole number and a unit.
func haproxyTime(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", d.Milliseconds())
}
