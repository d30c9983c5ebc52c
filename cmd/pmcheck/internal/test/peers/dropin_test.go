package peers_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// oldCheck is the check of 2013 as most have it: it never reads the request, and answers whatever was asked. It asks
// the path that Puppet Server still has, and waits until the client has sent its request, since HAProxy takes a reset
// for a failure.
const oldCheck = `#!/bin/bash
said=$(curl --noproxy '*' --silent --insecure --max-time 5 'https://` + first + `:8140/status/v1/simple')
if [ "$said" = running ]; then
    status='200 OK' body='Puppet Server is running.'
else
    status='503 Service Unavailable' body='Puppet Server has failed.'
fi
printf 'HTTP/1.1 %s\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s\r\n' \
    "$status" $((${#body} + 2)) "$body"
timeout 0.2 cat >/dev/null
`

// oldDigest is what keepalived's digest is set to for the body of a 200 of the old check.
const oldDigest = "f664a47e76d84bc8cb574835751fed01"

// What a client concludes while the master is in service, drained, and stopped. The old check is drained by stopping
// xinetd.
const (
	follows = "UP DOWN DOWN"
	never   = "DOWN DOWN DOWN"
)

// A form is one way to check a server. On the old check and on pmcheck it must conclude the same, except for what the
// migration page names.
type form struct {
	name  string
	check string // as the client has it: lines, a request, or options
	old   string // the conclusions on the old check; empty: follows
	now   string // on pmcheck, if they are others
	named string // what the migration page says of it then
	gone  bool   // HAProxy refuses it from 3.0 on
}

// forms returns the forms of check of each client.
func forms() map[string][]form {
	return map[string][]form{
		// Every form that HAProxy's manual has for a server of this kind: lines of its backend, separated by semicolons.
		"HAProxy": {
			{name: "bare", check: "option httpchk"},
			{name: "a path", check: "option httpchk /"},
			{name: "GET", check: "option httpchk GET /"},
			{name: "HEAD", check: "option httpchk HEAD /"},
			{name: "GET 1.0", check: "option httpchk GET / HTTP/1.0"},
			{name: "GET 1.1", check: "option httpchk GET / HTTP/1.1"},
			{name: "a name", check: "option httpchk GET /server"},
			{name: "Puppet's path", check: "option httpchk GET /status/v1/simple"},
			{name: "Puppet's path in PE", check: "option httpchk GET /status/v1/simple/pe-master HTTP/1.1"},
			{name: "the manual's", check: `option httpchk OPTIONS * HTTP/1.1\r\nHost:\ www`, gone: true},
			{name: "asterisk", check: "option httpchk OPTIONS * HTTP/1.0"},
			{name: "send", check: "option httpchk;http-check send meth GET uri / ver HTTP/1.1 hdr Host www"},
			{name: "send asterisk", check: "option httpchk;http-check send meth OPTIONS uri * ver HTTP/1.1 hdr Host www"},
			{name: "connect", check: "option httpchk;http-check connect;http-check send meth GET uri /;" +
				"http-check expect status 200"},
			{name: "state", check: "option httpchk GET /;http-check send-state"},
			{name: "404", check: "option httpchk GET /;http-check disable-on-404;http-check send-state"},
			{name: "status", check: "option httpchk GET /;http-check expect status 200"},
			{name: "rstatus", check: "option httpchk GET /;http-check expect rstatus ^2[0-9][0-9]"},
			{name: "not rstatus", check: "option httpchk GET /;http-check expect ! rstatus ^5"},
			{name: "string", check: "option httpchk GET /;http-check expect string Puppet\\ Server\\ is\\ running."},
			{name: "rstring", check: "option httpchk GET /;http-check expect rstring ^Puppet.*running"},
			{name: "header", check: `option httpchk GET /;http-check expect hdr name content-type value -m beg text/plain;` +
				`http-check expect status 200`},
			{name: "TCP", check: `option tcp-check;tcp-check send GET\ /\ HTTP/1.0\r\n;tcp-check send \r\n;` +
				`tcp-check expect string 200\ OK`},
			{name: "TCP, the line", check: `option tcp-check;tcp-check send GET\ /\ HTTP/1.0\r\n\r\n;` +
				`tcp-check expect rstring ^HTTP/1.1\ 200`},
			{name: "TCP 1.1", check: `option tcp-check;tcp-check send GET\ /\ HTTP/1.1\r\n;tcp-check send \r\n;` +
				`tcp-check expect string 200\ OK`},
			{name: "TCP, 0.9", check: `option tcp-check;tcp-check send GET\ /\r\n;tcp-check expect string running`},
			{name: "TCP, binary", check: "option tcp-check;tcp-check send-binary 474554202f0d0a;" +
				"tcp-check expect binary 323030204f4b"},

			{name: "another path", check: "option httpchk GET /puppet", now: never, named: "Another path"},
			{name: "POST", check: "option httpchk POST /", now: never, named: "Another method"},
			{name: "no request", check: "option tcp-check;tcp-check expect string 200", now: never,
				named: "A check without a request"},
			{name: "connection", check: "option tcp-check", old: "UP DOWN UP", now: "UP UP UP",
				named: "A check that only connects"},
			{name: "no failure", check: "option httpchk GET /;http-check expect ! string failed", now: "UP UP UP",
				old: follows, named: "`expect ! string failed`"},
			{name: "TLS", check: "option httpchk GET /;default-server check-ssl verify none", old: never},
			{name: "PROXY", check: "option httpchk GET /;default-server check-send-proxy", now: never,
				named: "`check-send-proxy`"},
		},
		// What other clients send, in one piece and cut in two. They conclude UP by the first line of the answer.
		"raw": {
			{name: "F5's default", check: "GET /\r\n"},
			{name: "F5 1.0", check: "GET / HTTP/1.0\r\n\r\n"},
			{name: "F5 1.1", check: "GET / HTTP/1.1\r\nHost: \r\nConnection: Close\r\n\r\n"},
			{name: "NetScaler", check: "HEAD / HTTP/1.0\r\n\r\n"},
			{name: "keepalived", check: "GET / HTTP/1.0\r\nUser-Agent: KeepAliveClient\r\nHost: puppet1\r\n\r\n"},
			{name: "keepalived 1.1", check: "GET / HTTP/1.1\r\nUser-Agent: KeepAliveClient\r\nConnection: close\r\n" +
				"Host: puppet1\r\n\r\n"},
			{name: "nginx", check: "GET / HTTP/1.0\r\nHost: puppet1\r\nConnection: close\r\n\r\n"},
		},
		// Options of the plugin.
		"check_http": {
			{name: "check_http", check: ""},
			{name: "check_http -e", check: "-e 'HTTP/1.1 200'"},
			{name: "check_http -s", check: "-s 'Puppet Server is running'"},
			{name: "check_http -j", check: "-j HEAD"},
			{name: "check_http -N", check: "-N -u /server"},
		},
		// The client of HTTP_GET is run by keepalived --genhash, which needs no ip_vs in the kernel and prints the answer.
		// These are the rest of its command line.
		"keepalived": {
			{name: "status_code 200", check: "--protocol 1.0 | grep '^HTTP/1.1 200'"},
			{name: "status_code 200, 1.1", check: "--protocol 1.1 | grep '^HTTP/1.1 200'"},
			{name: "digest", check: "| grep " + oldDigest, now: never, named: "`digest` of keepalived"},
		},
	}
}

// TestPmcheckIsADropIn: beside the check that it replaces, every client concludes the same of pmcheck. The long form
// tries the HAProxy of each release, the short form that of Debian 12.
func TestPmcheckIsADropIn(t *testing.T) {
	lab.Real(t)
	for _, ip := range []string{first, second} {
		lab.Output(t, exec.Command("ip", "address", "add", ip+"/32", "dev", "lo"))
		t.Cleanup(func() { lab.Output(t, exec.Command("ip", "address", "delete", ip+"/32", "dev", "lo")) })
	}
	var here *lab.Network // the programs of other releases are in that of the test process
	d := lab.StartDemo(t, here, first)
	xinetd := here.StartAncestor(t, second+":9200", oldCheck)
	inPieces(t, here) // before HAProxy asks the old check, which starts two programs for each answer

	checked, balancers := map[string][]form{}, map[string]*lab.HAProxy{}
	for _, release := range lab.HAProxyReleases() {
		if !lab.Long() && release.Suite != "bookworm" {
			continue
		}
		list := forms()["HAProxy"]
		if release.Suite != "bullseye" && release.Suite != "bookworm" {
			list = slices.DeleteFunc(list, func(f form) bool { return f.gone })
		}
		root := release.StartChroot(t)
		t.Logf("%s: %d forms, %.30s", release.Suite, len(list), lab.Output(t, root.Command("haproxy", "-v")))
		checked[release.Suite] = list
		balancers[release.Suite] = root.StartOldHAProxy(backends(list)) // it warns of the manual's
	}

	checkHTTP := lab.Need(t, filepath.Join(pluginDir, "check_http"), "monitoring-plugins-basic")
	keepalived := lab.Need(t, "keepalived", "keepalived")
	others := map[string]func(ip, check string) string{
		"raw": func(ip, check string) string { return raw(here, ip, check) },
		"check_http": func(ip, check string) string {
			return script(t, checkHTTP+" -H puppet1 -I "+ip+" -p 9200 -t 5 "+check)
		},
		"keepalived": func(ip, check string) string {
			return script(t, keepalived+" --genhash --verbose --timeout 5 --server "+ip+" --port 9200 --url / "+check)
		},
	}

	for state, change := range []func(){
		func() {},
		func() { d.Type("drain", "drain"); xinetd.Stop() },
		func() {
			d.Type("ready", lab.ServingBody)
			d.Type("stopped", "unhealthy: refused")
			xinetd = here.StartAncestor(t, second+":9200", oldCheck)
		},
	} {
		change()
		for suite, haproxy := range balancers {
			for i, f := range checked[suite] {
				f.wait(t, suite, state, func(server string) string {
					stat := haproxy.Stat(fmt.Sprint("b", i), server)
					if stat.CheckStatus == "" || stat.CheckStatus == "INI" {
						return "not checked"
					}
					return stat.Status
				})
			}
		}
		for client, concludes := range others {
			for _, f := range forms()[client] {
				f.wait(t, client, state, func(server string) string { return concludes(address(server), f.check) })
			}
		}
	}
}

// inPieces sends each request of other clients cut in two, at each byte. Of both checks the client concludes UP.
func inPieces(t *testing.T, n *lab.Network) {
	t.Helper()
	var work errgroup.Group
	work.SetLimit(8) // the old check starts two programs for each
	for _, f := range forms()["raw"] {
		for at := 1; at < len(f.check); at++ {
			for _, ip := range []string{first, second} {
				work.Go(func() error {
					answer, err := send(n, ip, f.check[:at], f.check[at:])
					if !isServing(answer) {
						return fmt.Errorf("%s, %q and %q: %s answers %q, %v", f.name, f.check[:at], f.check[at:], ip, answer, err)
					}
					return nil
				})
			}
		}
	}
	if err := work.Wait(); err != nil {
		t.Error(err)
	}
}

// backends returns a backend for each form, in which HAProxy checks both.
func backends(forms []form) (config string) {
	for i, f := range forms {
		config += fmt.Sprintf("backend b%d\n    %s\n", i, strings.ReplaceAll(f.check, ";", "\n    "))
		config += "    default-server check port 9200 inter 2s fall 1 rise 1\n"
		config += fmt.Sprintf("    server old %s:8140\n    server now %s:8140\n", second, first)
	}
	return config
}

func TestMigrationPageNamesWhatIsNotTheSame(t *testing.T) {
	page := lab.Read(t, example(t, "migrate-from-xinetd/README.md"))
	for client, list := range forms() {
		for _, f := range list {
			if (f.now != "") != (f.named != "") || !strings.Contains(page, f.named) {
				t.Errorf("%s, %s: the migration page does not say %q", client, f.name, f.named)
			}
		}
	}
}

func address(server string) string {
	return map[string]string{"old": second, "now": first}[server]
}

// wait waits until the client concludes what it must of both checks.
func (f form) wait(t *testing.T, client string, state int, concludes func(server string) string) {
	t.Helper()
	old := f.old
	if old == "" {
		old = follows
	}
	now := f.now
	if now == "" {
		now = old
	}

	for server, all := range map[string]string{"old": old, "now": now} {
		want, got := strings.Fields(all)[state], ""
		began := time.Now()
		for got = concludes(server); got != want && time.Since(began) < 15*time.Second; got = concludes(server) {
			time.Sleep(50 * time.Millisecond)
		}
		if got != want {
			t.Errorf("%s, %s: %s in state %d of the %s check, want %s", client, f.name, got, state, server, want)
		}
	}
}

// raw sends a request, and concludes UP by the answer of a master in service.
func raw(n *lab.Network, ip, request string) string {
	if answer, _ := send(n, ip, request); isServing(answer) {
		return "UP"
	}
	return "DOWN"
}

func isServing(answer string) bool { return strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") }

// send sends a request in pieces, and returns the answer. After the answer, the old check may reset the connection.
func send(n *lab.Network, ip string, request ...string) (answer string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := n.DialContext(ctx, "tcp", net.JoinHostPort(ip, "9200"))
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	for i, piece := range request {
		if i > 0 {
			time.Sleep(20 * time.Millisecond) // so that it is a segment of its own
		}
		io.WriteString(c, piece)
	}
	all, err := io.ReadAll(c)
	return string(all), err
}

// script runs a line of a shell that succeeds if its client concludes UP.
func script(t *testing.T, line string) string {
	t.Helper()
	err := exec.Command("sh", "-c", line).Run()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatalf("%s: %v", line, err)
	}
	if err != nil {
		return "DOWN"
	}
	return "UP"
}
