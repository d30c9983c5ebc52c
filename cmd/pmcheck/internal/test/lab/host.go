package lab

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const hostPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// A Host is a copy of this machine, or of a Release, with its own systemd as PID 1 and an
// address in its Network. Programs that are installed there are installed on the host. The
// files that it writes are visible to it alone. /tmp and /run are empty after each boot;
// everything else lasts as long as the test.
type Host struct {
	Name    string
	Address string // without a port

	net       *Network
	root      string // the directory of the files that it starts with
	machineID string
	init      atomic.Pointer[process] // PID 1; nil before the first boot
}

// Boot makes a host, boots it and waits until systemd reports it as running. The host is a
// copy of this machine, or of the release whose suite PMCHECK_RELEASE names.
func (n *Network) Boot(name string) *Host {
	n.tb.Helper()
	if r, another := bootedRelease(n.tb); another {
		return n.BootFrom(r.Root(n.tb), name)
	}
	Need(n.tb, "dbus-daemon", "dbus")
	Need(n.tb, "/lib/systemd/systemd", "systemd")
	return n.BootFrom("/", name)
}

// BootRelease does what Boot does, but the host is a copy of the release of this suite, if one is named.
func (n *Network) BootRelease(suite, name string) *Host {
	n.tb.Helper()
	if suite == "" {
		return n.Boot(name)
	}
	return n.BootFrom(release(n.tb, suite).Root(n.tb), name)
}

// BootFrom does what Boot does, but the host is a copy of root, such as that of a Release,
// instead of this machine.
func (n *Network) BootFrom(root, name string) *Host {
	n.tb.Helper()
	id := make([]byte, 16)
	rand.Read(id)
	h := &Host{Name: name, Address: n.nextAddress(), net: n, root: root, machineID: hex.EncodeToString(id)}
	n.hosts = append(n.hosts, h)
	Must(n.tb, os.Mkdir(n.inside(name), 0o755))
	Must(n.tb, os.Mkdir(h.cgroup(), 0o755))
	n.tb.Cleanup(func() {
		Output(n.tb, exec.Command("find", h.cgroup(), "-depth", "-type", "d", "-exec", "rmdir", "{}", "+"))
	})
	h.boot()
	for _, other := range n.hosts {
		if other.running() {
			other.WriteFile("/etc/hosts", n.hostsFile(), 0o644)
		}
	}
	return h
}

// FQDN returns the name under which all hosts of the network know this one.
func (h *Host) FQDN() string { return h.Name + ".lab.example" }

// Reboot makes systemd shut the host down in order, and boots it again. It returns once
// systemd reports the host as running.
func (h *Host) Reboot() {
	h.net.tb.Helper()
	_, _ = h.Run("systemctl", "--no-block", "reboot") // the shutdown may end it
	h.init.Load().waitExit(30 * time.Minute)          // as long as guard.shutdown may be
	h.boot()
}

// PowerCycle ends the host at once, as if its power failed, and boots it again. It returns once systemd reports the
// host as running.
func (h *Host) PowerCycle() {
	h.net.tb.Helper()
	h.init.Load().kill()
	h.boot()
}

// Pid returns the process id that the host's PID 1 has on this machine.
func (h *Host) Pid() int { return h.init.Load().cmd.Process.Pid }

// Command returns a command that runs on the host as root, with a minimal environment.
func (h *Host) Command(program string, args ...string) *exec.Cmd {
	flags := []string{"-t", strconv.Itoa(h.Pid()), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "--"}
	cmd := exec.Command("nsenter", append(append(flags, program), args...)...)
	cmd.Env = []string{"PATH=" + hostPath, "HOME=/root", "LANG=C.UTF-8"}
	return cmd
}

// Inside calls fn on a thread that is in the host's own network; see Network.Inside.
func (h *Host) Inside(fn func() error) error {
	return inNamespace(fmt.Sprintf("/proc/%d/ns/net", h.Pid()), fn)
}

// Run runs a program on the host and returns its combined output without the last newline.
// The error includes the output.
func (h *Host) Run(program string, args ...string) (string, error) {
	cmd := h.Command(program, args...)
	out, err := cmd.CombinedOutput()
	text := strings.TrimSuffix(string(out), "\n")
	if err != nil {
		err = fmt.Errorf("%s: %s: %w: %s", h.Name, strings.Join(cmd.Args, " "), err, text)
	}
	return text, err
}

// MustRun runs a program as Run does, and fails the test if the program fails.
func (h *Host) MustRun(program string, args ...string) string {
	h.net.tb.Helper()
	out, err := h.Run(program, args...)
	Must(h.net.tb, err)
	return out
}

// WriteFile writes a file on the host, and makes missing parent directories.
func (h *Host) WriteFile(path, content string, mode fs.FileMode) {
	h.net.tb.Helper()
	cmd := h.Command("install", "-D", "-m", fmt.Sprintf("%o", mode.Perm()), "/dev/stdin", path)
	cmd.Stdin = strings.NewReader(content)
	Output(h.net.tb, cmd)
}

// Copy copies a file of this machine, such as the result of Build, to the host.
func (h *Host) Copy(file, path string, mode fs.FileMode) {
	h.net.tb.Helper()
	h.WriteFile(path, Read(h.net.tb, file), mode)
}

// Journal returns what the named units have logged since the host was made, oldest first.
// Without names it returns the whole journal.
func (h *Host) Journal(units ...string) string {
	h.net.tb.Helper()
	args := []string{"--no-pager", "--output=short-precise"}
	for _, unit := range units {
		args = append(args, "--unit="+unit)
	}
	return h.MustRun("journalctl", args...)
}
