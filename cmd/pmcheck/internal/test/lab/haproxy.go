package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ownConfig is what the lab adds to a configuration. Defaults of the configuration replace its own.
const ownConfig = `global
    stats socket %s mode 600 level admin expose-fd listeners
    log stdout format raw local0
defaults
    mode tcp
    log global
    timeout connect 5s
    timeout client 30m
    timeout server 30m
`

// An HAProxy is one real HAProxy in master-worker mode, as the distributions
// run it.
type HAProxy struct {
	tb    testing.TB
	dir   string
	host  *Host    // that it runs on; nil if it runs in a Network
	proc  *process // nil if the systemd of host runs it
	warns bool     // about its configuration, which is an old one
}

// hostSocket is the path of the admin socket on a Host.
const hostSocket = "/run/haproxy-lab.sock"

// StartHAProxy starts HAProxy with config, a complete configuration but for the
// admin socket, the log and, if it has no defaults, those of README.md.
// It returns once the admin socket answers.
func StartHAProxy(tb testing.TB, config string) *HAProxy {
	tb.Helper()
	return (*Network)(nil).StartHAProxy(tb, config)
}

// StartHAProxy starts HAProxy inside the network; see the function of the same name. A nil
// Network is the machine's own.
func (n *Network) StartHAProxy(tb testing.TB, config string) *HAProxy {
	tb.Helper()
	h := &HAProxy{tb: tb, dir: tempDir(tb)}
	Need(tb, "haproxy", "haproxy")
	h.start(n.Command, h.writeConfig(config))
	return h
}

// start checks the configuration in files, for which HAProxy must have no warning, and starts HAProxy with it.
func (h *HAProxy) start(command func(program string, args ...string) *exec.Cmd, files []string) {
	h.tb.Helper()
	out, err := command("haproxy", append([]string{"-c"}, files...)...).CombinedOutput()
	if err != nil || !h.warns && bytes.Contains(out, []byte("[WARNING]")) {
		h.tb.Errorf("haproxy -c: %v\n%s", err, out)
	}
	log := filepath.Join(h.dir, "haproxy.log")
	h.proc = start(h.tb, command("haproxy", append([]string{"-W", "-db"}, files...)...), log)
	h.waitAnswer(func(string) bool { return true })
}

// StartHAProxy starts the HAProxy that is installed on the host; see the function of the same
// name. Reload does not work on it.
func (h *Host) StartHAProxy(config string) *HAProxy {
	tb := h.net.tb
	tb.Helper()
	p := &HAProxy{tb: tb, dir: tempDir(tb), host: h}
	h.WriteFile("/etc/haproxy/lab.cfg", fmt.Sprintf(ownConfig, hostSocket), 0o644)
	h.WriteFile("/etc/haproxy/haproxy.cfg", config, 0o644)
	p.start(h.Command, []string{"-f", "/etc/haproxy/lab.cfg", "-f", "/etc/haproxy/haproxy.cfg"})
	return p
}

// EnableHAProxy enables the packaged haproxy.service of the host with config, and starts it. Of its methods, those that
// ask it work.
func (h *Host) EnableHAProxy(config string) *HAProxy {
	h.net.tb.Helper()
	h.WriteFile("/etc/haproxy/haproxy.cfg", fmt.Sprintf(ownConfig, hostSocket)+config, 0o644)
	h.MustRun("systemctl", "enable", "haproxy")
	h.MustRun("systemctl", "restart", "haproxy")
	p := &HAProxy{tb: h.net.tb, host: h}
	p.waitAnswer(func(string) bool { return true })
	return p
}

// Reload replaces the configuration and waits until a new worker runs it.
// After a reload, HAProxy considers every server UP until its first health check.
func (h *HAProxy) Reload(config string) {
	h.tb.Helper()
	before := workerPid(h.Admin("show info"))
	h.writeConfig(config)
	h.proc.signal(syscall.SIGUSR2)
	h.waitAnswer(func(info string) bool { return workerPid(info) != before })
}

// Stop ends HAProxy as its unit does.
func (h *HAProxy) Stop() {
	h.tb.Helper()
	h.proc.signal(syscall.SIGTERM)
	h.proc.waitExit(10 * time.Second)
}

// Outages returns how often a backend has had no server, by HAProxy's own count.
func (h *HAProxy) Outages(backend string) int {
	h.tb.Helper()
	n := 0
	for line := range strings.Lines(h.Log()) {
		if strings.Contains(line, "backend '"+backend+"' has no server available!") { // on stderr, whatever is logged
			n++
		}
	}
	return n
}

// Log returns what HAProxy has logged so far, by itself and by "log global".
func (h *HAProxy) Log() string {
	h.tb.Helper()
	return Read(h.tb, filepath.Join(h.dir, "haproxy.log"))
}

// Admin sends one command to the admin socket, such as "disable server a/m1",
// and returns the answer.
func (h *HAProxy) Admin(command string) string {
	h.tb.Helper()
	answer, err := h.admin(command)
	Must(h.tb, err)
	return answer
}

func (h *HAProxy) admin(command string) (string, error) {
	conn, err := net.DialTimeout("unix", h.socket(), time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, command+"\n"); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return "", fmt.Errorf("haproxy %s: %w", command, err)
	}
	return string(answer), nil
}

// Stats returns every server of every backend as HAProxy sees it now.
func (h *HAProxy) Stats() ([]ServerStat, error) {
	answer, err := h.admin("show stat")
	if err != nil {
		return nil, err
	}
	return ParseStats(answer)
}

// Status returns the status of a server: "UP", "UP 1/2" on the way down, "DOWN", ..., or why it is not known.
func (h *HAProxy) Status(backend, server string) string {
	stat, err := h.stat(backend, server)
	if err != nil {
		return err.Error()
	}
	return stat.Status
}

// Stat returns one server, which must exist.
func (h *HAProxy) Stat(backend, server string) ServerStat {
	h.tb.Helper()
	stat, err := h.stat(backend, server)
	Must(h.tb, err)
	return stat
}

func (h *HAProxy) stat(backend, server string) (ServerStat, error) {
	stats, err := h.Stats()
	if err != nil {
		return ServerStat{}, err
	}
	for _, stat := range stats {
		if stat.Backend == backend && stat.Server == server {
			return stat, nil
		}
	}
	return ServerStat{}, fmt.Errorf("haproxy has no server %s/%s", backend, server)
}

// WaitStatus waits until HAProxy gives the server this status, such as "UP",
// "DOWN" or "NOLB".
func (h *HAProxy) WaitStatus(backend, server, status string, within time.Duration) {
	h.tb.Helper()
	WaitFor(h.tb, within, 10*time.Millisecond, func() error {
		if got := h.Status(backend, server); got != status {
			return fmt.Errorf("HAProxy says %s of %s/%s, want %s", got, backend, server, status)
		}
		return nil
	})
}

// WaitEach waits until want accepts HAProxy's view of every server.
func (h *HAProxy) WaitEach(within time.Duration, want func(ServerStat) bool) {
	h.tb.Helper()
	WaitFor(h.tb, within, 10*time.Millisecond, func() error {
		stats, err := h.Stats()
		if len(stats) == 0 {
			err = errors.Join(err, errors.New("HAProxy names no server"))
		}
		for _, stat := range stats {
			if !want(stat) {
				err = errors.Join(err, fmt.Errorf("HAProxy's view is %+v", stat))
			}
		}
		return err
	})
}

// Healthy reports whether the server is UP by a health check, not as HAProxy assumes at its start.
func (s ServerStat) Healthy() bool { return s.Status == "UP" && s.CheckStatus == "L7OK" }

// waitAnswer waits until want accepts the admin socket's answer to "show info".
func (h *HAProxy) waitAnswer(want func(info string) bool) {
	h.tb.Helper()
	WaitFor(h.tb, 10*time.Second, 10*time.Millisecond, func() error {
		if h.proc != nil {
			Must(h.tb, h.proc.died())
		}
		info, err := h.admin("show info")
		if err == nil && !want(info) {
			err = errors.New("the old worker still answers")
		}
		return err
	})
}

// writeConfig writes the configuration files and returns the arguments that name them.
func (h *HAProxy) writeConfig(config string) []string {
	h.tb.Helper()
	own, callers := filepath.Join(h.dir, "lab.cfg"), filepath.Join(h.dir, "haproxy.cfg")
	Write(h.tb, own, fmt.Sprintf(ownConfig, h.socket()))
	Write(h.tb, callers, config)
	return []string{"-f", own, "-f", callers}
}

// socket returns the path of the admin socket, by which this process reaches it. A host that has booted again has
// another.
func (h *HAProxy) socket() string {
	if h.host != nil {
		return fmt.Sprintf("/proc/%d/root%s", h.host.Pid(), hostSocket)
	}
	return filepath.Join(h.dir, "admin.sock")
}

// workerPid returns the line "Pid: 123" of the answer to "show info".
func workerPid(info string) string {
	return regexp.MustCompile(`(?m)^Pid: (\d+)$`).FindString(info)
}
