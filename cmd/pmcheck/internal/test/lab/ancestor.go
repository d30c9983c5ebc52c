package lab

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// ancestorScript is the check of 2013 with two changes that it needs today: it asks for
// the status path that Puppet Server still has, and it reads the request before it
// answers. Otherwise HAProxy sees a connection reset.
const ancestorScript = `#!/bin/bash
while IFS= read -r -t 5 line && [ -n "${line%%$'\r'}" ]; do :; done
if [ "$(curl --noproxy '*' --silent --insecure --max-time 5 'https://%s/status/v1/simple')" = running ]; then
    status='200 OK' body='Puppet Server is running.'
else
    status='503 Service Unavailable' body='Puppet Server has failed.'
fi
printf 'HTTP/1.1 %%s\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %%d\r\n\r\n%%s\r\n' \
    "$status" $((${#body} + 2)) "$body"
`

// ancestorDefaults lift xinetd's limit on connections per second, so that benchmarks do
// not measure that limit.
const ancestorDefaults = `defaults
{
    instances = UNLIMITED
    per_source = UNLIMITED
    cps = 100000 1
}
includedir %s
`

const ancestorService = `service puppetserver_check
{
    type        = UNLISTED
    socket_type = stream
    protocol    = tcp
    wait        = no
    disable     = no
    bind        = %s
    port        = %s
    user        = nobody
    server      = %s
}
`

// AncestorFile is the file of a host that describes the ancestor.
const AncestorFile = "/etc/xinetd.d/puppetserver_check"

// An Ancestor is the check that pmcheck replaces, as a baseline for measurements: xinetd,
// which starts bash and curl for each request.
type Ancestor struct {
	address string
	proc    *process
}

// StartAncestor starts the ancestor for the Puppet Server at target, host:port,
// and returns once it accepts connections.
func StartAncestor(tb testing.TB, target string) *Ancestor {
	tb.Helper()
	return (*Network)(nil).StartAncestor(tb, Address(tb, "127.0.0.1"), fmt.Sprintf(ancestorScript, target))
}

// StartAncestor starts xinetd inside the network. It runs a script for each connection to address, a host:port.
func (n *Network) StartAncestor(tb testing.TB, address, script string) *Ancestor {
	tb.Helper()
	xinetd := Need(tb, "xinetd", "xinetd")
	Need(tb, "curl", "curl")
	Need(tb, "bash", "bash")
	dir := tempDir(tb)
	program, config, services := filepath.Join(dir, "check"), filepath.Join(dir, "xinetd.conf"), filepath.Join(dir, "d")
	host, port, err := net.SplitHostPort(address)
	Must(tb, err)
	Write(tb, program, script)
	Must(tb, os.Chmod(program, 0o755))
	Write(tb, config, fmt.Sprintf(ancestorDefaults, services))
	Write(tb, filepath.Join(services, "check"), fmt.Sprintf(ancestorService, host, port, program))
	log := filepath.Join(dir, "xinetd.log")
	a := &Ancestor{address: address}
	a.proc = start(tb, n.Command(xinetd, "-dontfork", "-f", config, "-filelog", log), log)
	WaitFor(tb, 5*time.Second, 10*time.Millisecond, func() error {
		conn, err := n.Dial(tb.Context(), net.Dialer{}, "tcp", a.address)
		if err != nil {
			return errors.Join(err, a.proc.died())
		}
		return conn.Close()
	})
	return a
}

// Stop ends xinetd, as "service xinetd stop" does.
func (a *Ancestor) Stop() {
	a.proc.tb.Helper()
	a.proc.signal(syscall.SIGTERM)
	a.proc.waitExit(10 * time.Second)
}

// StartAncestor configures the host's own xinetd to run the ancestor. It listens on port
// 9200 of all addresses and asks the host's own master.
func (h *Host) StartAncestor() {
	h.net.tb.Helper()
	Need(h.net.tb, "xinetd", "xinetd")
	const script = "/usr/local/bin/puppetserver_check"
	h.WriteFile(script, fmt.Sprintf(ancestorScript, "localhost:8140"), 0o755)
	h.WriteFile("/etc/xinetd.conf", fmt.Sprintf(ancestorDefaults, filepath.Dir(AncestorFile)), 0o644)
	h.WriteFile(AncestorFile, fmt.Sprintf(ancestorService, "0.0.0.0", "9200", script), 0o644)
	h.MustRun("systemctl", "enable", "xinetd")
	h.MustRun("systemctl", "restart", "xinetd")
}

// Address returns the host:port the ancestor answers on.
func (a *Ancestor) Address() string { return a.address }

// Pid returns the process id of xinetd, whose children do the work; see CPUTime.
func (a *Ancestor) Pid() int { return a.proc.cmd.Process.Pid }
