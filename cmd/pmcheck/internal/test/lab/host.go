//go:build linux

package lab

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const hostPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// A Host is this machine once more, with a systemd of its own as PID 1 and an
// address in its Network: programs that are installed here are installed there, and
// nothing else sees what it writes. /tmp and /run are empty at first
// and after each boot; everything else lasts as long as the test.
type Host struct {
	Name    string
	Address string // without a port

	net       *Network
	machineID string
	init      *process // PID 1; nil before the first boot
}

// Boot makes a host, boots it and waits until systemd calls it running.
func (n *Network) Boot(name string) *Host {
	n.tb.Helper()
	Need(n.tb, "dbus-daemon", "dbus")
	Need(n.tb, "/lib/systemd/systemd", "systemd")
	id := make([]byte, 16)
	rand.Read(id)
	h := &Host{Name: name, Address: n.nextAddress(), net: n, machineID: hex.EncodeToString(id)}
	n.hosts = append(n.hosts, h)
	h.mkdir(n.inside(name))
	h.mkdir(h.cgroup())
	n.tb.Cleanup(h.removeCgroup)
	h.boot()
	for _, other := range n.hosts {
		if other.running() {
			other.WriteFile("/etc/hosts", n.hostsFile(), 0o644)
		}
	}
	return h
}

// FQDN returns the name every host of the network knows this one by.
func (h *Host) FQDN() string { return h.Name + ".lab.example" }

// Reboot has systemd stop everything in order, and boots anew. It returns once
// systemd calls the host running.
func (h *Host) Reboot() {
	h.net.tb.Helper()
	h.halt("reboot")
	h.boot()
}

// Poweroff has systemd stop everything in order. PowerOn boots the host again.
func (h *Host) Poweroff() {
	h.net.tb.Helper()
	h.halt("poweroff")
}

// Crash takes the host away without any order, as a power cut does.
func (h *Host) Crash() { h.init.kill() }

// PowerOn boots a host that is off, on what it had written before.
func (h *Host) PowerOn() {
	h.net.tb.Helper()
	if h.running() {
		h.net.tb.Fatalf("%s is on", h.Name)
	}
	h.boot()
}

// Pid returns the process id of the host's PID 1, as this machine counts.
func (h *Host) Pid() int { return h.init.cmd.Process.Pid }

// Command is exec.Command on the host, as root, with an environment of its own.
func (h *Host) Command(program string, args ...string) *exec.Cmd {
	flags := []string{"-t", strconv.Itoa(h.Pid()), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "--"}
	cmd := exec.Command("nsenter", append(append(flags, program), args...)...)
	cmd.Env = []string{"PATH=" + hostPath, "HOME=/root", "LANG=C.UTF-8"}
	return cmd
}

// Inside is Network.Inside with the host's own network.
func (h *Host) Inside(fn func() error) error {
	return inNamespace(fmt.Sprintf("/proc/%d/ns/net", h.Pid()), fn)
}

// Run runs a program on the host and returns what it wrote to both of its
// outputs, less the last newline. The error repeats it.
func (h *Host) Run(program string, args ...string) (string, error) {
	out, err := h.Command(program, args...).CombinedOutput()
	text := strings.TrimSuffix(string(out), "\n")
	if err != nil {
		err = fmt.Errorf("%s: %s %s: %w: %s", h.Name, program, strings.Join(args, " "), err, text)
	}
	return text, err
}

// MustRun is Run for what cannot fail without failing the test.
func (h *Host) MustRun(program string, args ...string) string {
	h.net.tb.Helper()
	out, err := h.Run(program, args...)
	if err != nil {
		h.net.tb.Fatal(err)
	}
	return out
}

// Start starts a program on the host and returns the function that kills it.
// It is killed in any case when the test ends or the host goes down.
func (h *Host) Start(program string, args ...string) (kill func()) {
	h.net.tb.Helper()
	log := filepath.Join(tempDir(h.net.tb), filepath.Base(program)+".log")
	showOnFailure(h.net.tb, log)
	return start(h.net.tb, h.Command(program, args...), log).kill
}

// WriteFile writes a file on the host and the directories it needs.
func (h *Host) WriteFile(path, content string, mode fs.FileMode) {
	h.net.tb.Helper()
	cmd := h.Command("install", "-D", "-m", fmt.Sprintf("%o", mode.Perm()), "/dev/stdin", path)
	cmd.Stdin = strings.NewReader(content)
	if out, err := cmd.CombinedOutput(); err != nil {
		h.net.tb.Fatalf("%s: write %s: %v: %s", h.Name, path, err, out)
	}
}

// Copy copies a file of this machine, such as the result of Build, to the host.
func (h *Host) Copy(file, path string, mode fs.FileMode) {
	h.net.tb.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		h.net.tb.Fatal(err)
	}
	h.WriteFile(path, string(content), mode)
}

// Journal returns what the units of the host have logged since it was made,
// oldest first; all of it when no unit is named.
func (h *Host) Journal(units ...string) string {
	h.net.tb.Helper()
	args := []string{"--no-pager", "--output=short-precise"}
	for _, unit := range units {
		args = append(args, "--unit="+unit)
	}
	var out bytes.Buffer
	cmd := h.Command("journalctl", args...)
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		h.net.tb.Fatalf("%s: journalctl: %v", h.Name, err)
	}
	return out.String()
}
