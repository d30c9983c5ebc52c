// Package haproxy writes the backend section for HAProxy that fits a
// configuration, with a comment on each line.
package haproxy

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// section is the template.
//
//go:embed backend.tmpl
var section string

//go:embed frontend.tmpl
var frontend string

// Backend is a pool of masters.
type Backend struct {
	Name     string
	Servers  []Server
	Graceful bool          // a drained master answers 404
	Inter    time.Duration // between two checks
	Fall     int           // failed checks in a row until a master is DOWN
	Settings config.Config // of pmcheck on the masters
}

// Service returns the service that the backend asks for, which is that of its name, or ""
// for the master.
func (b Backend) Service() string {
	if slices.Contains(b.Settings.Services, b.Name) || b.ownAddress() != "" {
		return b.Name
	}
	return ""
}

// ownAddress returns the host:port of the backend's service on this host, if it is not
// that of Puppet Server, as it is for the CA.
func (b Backend) ownAddress() string {
	if b.Name == "puppetdb" {
		return check.Settings[check.PuppetDBSettings](b.Settings.Checks).Address
	}
	return ""
}

// Server is one master.
type Server struct {
	Name    string
	Address string // the host:port of Puppet Server
	Check   string // how its health check differs from that of the others, with a space before each word
}

// portOf returns the port of a valid address, or "" for an empty one.
func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// parseServer reads NAME=ADDRESS, an address, or an entry of fleet if it is listed there. The
// port of such an entry is pmcheck's; the service's is that on this host unless NAME=ADDRESS
// says otherwise.
func (b *Backend) parseServer(text string, listed bool) (Server, error) {
	name, address, named := strings.Cut(text, "=")
	if !named {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			text = u.Host
		} else if port := portOf(text); port != "" && !listed {
			return Server{}, fmt.Errorf("%q: whose port is %s? for Puppet Server's write NAME=%s", text, port, text)
		}
		if host, _, err := net.SplitHostPort(text); err == nil {
			text = host
		}
		name, address = strings.Trim(text, "[]"), text
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), portOf(cmp.Or(b.ownAddress(), b.Settings.Probe.Address)))
	}
	plain := func(word string) bool { return plainWord(word) || net.ParseIP(word) != nil }
	host, port, err := net.SplitHostPort(address)
	if number, bad := strconv.ParseUint(port, 10, 16); err == nil && plainWord(port) && (bad != nil || number == 0) {
		return Server{}, fmt.Errorf("%q: port %s: write a number from 1 to 65535", text, port)
	}
	if err != nil || !plain(name) || !plain(host) || !plainWord(port) {
		return Server{}, fmt.Errorf("%q: write NAME=ADDRESS, for example puppet1=192.0.2.11", text)
	}
	return Server{Name: strings.ReplaceAll(name, ":", "-"), Address: address}, nil
}

// checkOf returns the port and the protocol of an entry of fleet, if it names others than
// those in the configuration of this host.
func (b *Backend) checkOf(member string) (words string) {
	scheme, host, found := strings.Cut(member, "://")
	if !found {
		scheme, host = "", member
	}
	if port := portOf(host); port != "" && port != portOf(b.Settings.Listen) {
		words += " port " + port
	}
	switch off := b.Settings.TLS == "off"; {
	case scheme == "https" && off:
		words += " check-ssl verify none"
	case scheme == "http" && !off:
		words += " no-check-ssl"
	}
	return words
}

// Add adds a server to the backend. It returns an error for a second server of the same
// name, which HAProxy refuses, or of the same address, which it would ask twice.
func (b *Backend) Add(s Server) error {
	for _, other := range b.Servers {
		switch {
		case other.Name == s.Name:
			return fmt.Errorf("%s is the name of %s and of %s: give each a name of its own, NAME=ADDRESS",
				s.Name, other.Address, s.Address)
		case other.Address == s.Address:
			return fmt.Errorf("%s is the address of %s and of %s: name it once", s.Address, other.Name, s.Name)
		}
	}
	b.Servers = append(b.Servers, s)
	return nil
}

// AddAll adds the servers given with --server, or else those of fleet.
func (b *Backend) AddAll(given []string) error {
	listed := len(given) == 0
	if listed {
		given = b.Settings.Fleet
	}
	for _, g := range given {
		s, err := b.parseServer(g, listed)
		if err != nil {
			return fmt.Errorf("--server %w", err)
		}
		if listed {
			s.Check = b.checkOf(g)
		}
		if err := b.Add(s); err != nil {
			return fmt.Errorf("--server or fleet: %w", err)
		}
	}
	return nil
}

// TakeNames takes the values of --name: the name of b, and those of other backends, which it
// returns.
func (b *Backend) TakeNames(given []string) (names []Name, err error) {
	for _, g := range given {
		if strings.Contains(g, "=") {
			n, err := parseName(g)
			if err != nil {
				return nil, fmt.Errorf("--name %w", err)
			}
			names = append(names, n)
		} else if b.Name = g; !plainWord(g) {
			return nil, fmt.Errorf("--name %q: letters, digits, dot, underscore and hyphen only", g)
		}
	}
	return names, nil
}

// WriteNames writes a frontend that tells backends apart by the name that an agent
// connects to: names lists the other backends and their names, every other name goes to b.
func (b Backend) WriteNames(w io.Writer, names []Name) error {
	t, err := template.New("frontend.tmpl").Parse(frontend)
	if err != nil {
		return err
	}
	return t.Execute(w, struct {
		Default string
		Names   []Name
	}{b.Name, names})
}

// Name is a backend, and the name under which agents connect to it.
type Name struct{ Backend, Host string }

// parseName reads BACKEND=HOST.
func parseName(text string) (Name, error) {
	backend, host, _ := strings.Cut(text, "=")
	if !plainWord(backend) || !plainWord(host) {
		return Name{}, fmt.Errorf("%q: write BACKEND=HOST, for example ca=puppetca.example.com", text)
	}
	return Name{backend, host}, nil
}

// plainWord reports whether a word has no characters with a meaning in haproxy.cfg.
func plainWord(s string) bool {
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
