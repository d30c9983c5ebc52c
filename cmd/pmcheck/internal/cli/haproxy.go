package cli

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// backend is a pool of masters as HAProxy is told of it.
type backend struct {
	name     string
	servers  []server
	graceful bool
	tls      bool
	port     string // of pmcheck on the masters
	agent    string // its port for agent-checks; empty if there is none
	inter    time.Duration
	fall     int
	settings config.Config
}

// server is one master: its name, and where it listens.
type server struct{ name, address string }

func haproxyCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:  "haproxy",
		Usage: "print a backend section for HAProxy that fits this configuration",
		Description: "Names the masters given with --server, or those listed as fleet in the configuration,\n" +
			"and explains each line in a comment. Paste it into haproxy.cfg.\n" +
			"With agent.listen in the configuration it has agent-checks, too.",
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringSliceFlag{Name: "server", Usage: "a master, `NAME=ADDRESS` or an address; several times"},
			&cli.StringFlag{Name: "name", Value: "puppet", Usage: "`NAME` of the backend"},
			&cli.BoolFlag{Name: "graceful", Usage: "let a drain be a 404, which raises no alert"},
			&cli.DurationFlag{Name: "inter", Value: 2 * time.Second, Usage: "`TIME` between two checks"},
			&cli.IntFlag{Name: "fall", Value: 3, Usage: "checks in a row until a master is DOWN"},
		},
		Action: func(c *cli.Context) error { return printBackend(c, environ) },
	}
}

func printBackend(c *cli.Context, environ []string) error {
	settings, err := loadLocal(c, environ)
	if err != nil {
		return err
	}
	given := c.StringSlice("server")
	if len(given) == 0 {
		given = settings.Fleet
	}
	if len(given) == 0 {
		return &exitError{exitUsage, &hinted{fmt.Errorf("no masters: neither --server nor fleet in the configuration"),
			"pmcheck haproxy --server puppet1=192.0.2.11 --server puppet2=192.0.2.12"}}
	}
	if c.Duration("inter") < 10*time.Millisecond || c.Int("fall") < 1 {
		return usageError("--inter is at least 10ms and --fall at least 1")
	}
	b := backend{name: c.String("name"), graceful: c.Bool("graceful"), tls: settings.TLS != config.TLSOff,
		port: portOf(settings.Listen), agent: portOf(settings.Agent.Listen),
		inter: c.Duration("inter"), fall: c.Int("fall"), settings: settings}
	if !plainWord(b.name) {
		return usageError("--name %q: letters, digits, dot, underscore and hyphen only", b.name)
	}
	for _, g := range given {
		s, err := parseServer(g)
		if err != nil {
			return err
		}
		b.servers = append(b.servers, s)
	}
	b.print(c.App.Writer)
	return nil
}

// portOf returns the port of an address that was found valid; none of an empty one.
func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// parseServer reads NAME=ADDRESS, an address, or an entry of fleet. The port
// of an entry of fleet is pmcheck's; Puppet's is 8140 unless NAME=ADDRESS says
// otherwise.
func parseServer(text string) (server, error) {
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
	if err != nil || !plainWord(name) && net.ParseIP(name) == nil || !plainWord(host) && net.ParseIP(host) == nil || !plainWord(port) {
		return server{}, usageError("--server %q: write NAME=ADDRESS, for example puppet1=192.0.2.11", text)
	}
	return server{strings.ReplaceAll(name, ":", "-"), address}, nil
}

// plainWord reports whether a word means nothing but itself in haproxy.cfg.
func plainWord(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

func (b backend) print(w io.Writer) {
	line := func(comment, text string) {
		if comment != "" {
			fmt.Fprintf(w, "    # %s\n", comment)
		}
		fmt.Fprintf(w, "    %s\n", text)
	}
	fmt.Fprintf(w, "backend %s\n", b.name)
	line("Puppet's mutual TLS goes through unseen, so layer 4 it is.", "mode tcp")
	line("Catalogs take unequal time: the master with the fewest connections is next.", "balance leastconn")
	line("A connection that one master refuses is tried at another.", "option redispatch 1")
	line("Longer than the slowest catalog takes: meanwhile nothing moves.", "timeout server 30m")
	line("", "timeout connect 5s")
	line("A check is one packet each way; pmcheck answers from memory.", fmt.Sprintf("timeout check %s", haproxyTime(min(b.inter, 2*time.Second))))
	b.printQuestion(line)
	line("Tells pmcheck what HAProxy makes of the master: drain --wait and the last-server guard need it.", "http-check send-state")
	b.printDefaults(line)
	for _, s := range b.servers {
		line("", fmt.Sprintf("server %s %s", s.name, s.address))
	}
}

// printQuestion writes what HAProxy asks. With agent-checks it hears of holds by
// those, and asks for health alone: two answers to one hold would contend.
func (b backend) printQuestion(line func(comment, text string)) {
	switch {
	case b.agent != "":
		line("200 is fit; what operators want is told by the agent-check below.", "option httpchk GET /?drain=200&maint=200")
	case b.graceful:
		line("A drained master answers 404: no new connections from the next check on, no alert.", "option httpchk GET /?drain=404")
		line("", "http-check disable-on-404")
	default:
		line("200 is fit; 503 is not, or held by an operator.", "option httpchk GET /")
	}
}

// printDefaults writes what all servers have in common.
func (b backend) printDefaults(line func(comment, text string)) {
	d := b.settings.Detection(b.inter, b.fall)
	check := "check port " + b.port
	if b.tls {
		check += " check-ssl verify none"
	}
	line(fmt.Sprintf("DOWN at the latest %.1f s after a master is killed, %.1f s after it stops answering.", d.Killed.Seconds(), d.Silent.Seconds()),
		fmt.Sprintf("default-server %s inter %s fall %d rise 2", check, haproxyTime(b.inter), b.fall))
	if b.agent != "" {
		line("A held master is DRAIN or MAINT from the next agent-check on, and no alert is raised.",
			fmt.Sprintf("default-server agent-check agent-port %s agent-inter %s", b.agent, haproxyTime(b.inter)))
	}
	if b.agent != "" && b.settings.Agent.Weight {
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
