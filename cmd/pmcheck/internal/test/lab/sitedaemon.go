package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// Command returns a command that runs pmcheck. On this machine it has no settings but those
// in its configuration file.
func (s *Site) Command(args ...string) *exec.Cmd {
	s.TB.Helper()
	if s.Host != nil {
		return s.Host.Command("pmcheck", args...)
	}
	cmd := exec.Command(Build(s.TB), append(args, "--config", s.ConfigFile())...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"GOMAXPROCS=1", "GOGC=50", // as in pmcheck.service
		"PMCHECK_HOLDS=" + filepath.Dir(s.Holds.Persistent),
		"PMCHECK_SOCKET=" + s.Socket(), // beside the holds, unless they are another site's
	}
	if s.runtime != "" {
		cmd.Env = append(cmd.Env, "RUNTIME_DIRECTORY="+s.runtime)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Run runs a command of pmcheck and returns what it printed and its exit status.
func (s *Site) Run(args ...string) (stdout string, status int) {
	s.TB.Helper()
	cmd := s.Command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		s.TB.Fatal(err)
	}
	if errs.Len() > 0 {
		s.TB.Logf("pmcheck %s, on stderr:\n%s", strings.Join(args, " "), &errs)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// MustRun runs a command of pmcheck, which must succeed.
func (s *Site) MustRun(args ...string) (stdout string) {
	s.TB.Helper()
	out, status := s.Run(args...)
	if status != 0 {
		s.TB.Fatalf("pmcheck %s: exit status %d\n%s", strings.Join(args, " "), status, out)
	}
	return out
}

// Install installs pmcheck's package on the host as an administrator does, and keeps an
// existing configuration.
func (s *Site) Install(deb string) {
	s.TB.Helper()
	s.Host.Copy(deb, "/root/pmcheck.deb", 0o644)
	s.Host.MustRun("dpkg", "--install", "--force-confold", "/root/pmcheck.deb")
}

// Start starts the daemon of a site on this machine. The daemon is killed when the test ends.
func (s *Site) Start() {
	s.TB.Helper()
	s.age()
	s.daemon = start(s.TB, s.Command("serve"), s.logFile())
}

// age leaves to the next daemon that balancers have been heard for an hour, and nothing else unless the site remembers
// more: a command waits two minutes beside a daemon that is young.
func (s *Site) age() {
	s.TB.Helper()
	memory := filepath.Join(s.runtime, "memory.json")
	if _, err := os.Stat(memory); err == nil && s.remembers {
		return
	}

	files, err := os.ReadDir(s.runtime)
	Must(s.TB, err)
	for _, f := range files {
		Must(s.TB, os.Remove(filepath.Join(s.runtime, f.Name())))
	}
	now := time.Now()
	data, err := json.Marshal(map[string]time.Time{"saved": now, "listens_since": now.Add(-time.Hour)})
	Must(s.TB, err)
	Must(s.TB, os.WriteFile(memory, data, 0o600))
}

// Signal sends a signal to the daemon.
func (s *Site) Signal(sig os.Signal) {
	s.TB.Helper()
	s.daemon.signal(sig)
}

// Stop ends the daemon in order and waits until it is gone.
func (s *Site) Stop() {
	s.TB.Helper()
	s.Signal(syscall.SIGTERM)
	s.daemon.waitExit(10 * time.Second)
}

// Kill kills the daemon with SIGKILL, like a crash.
func (s *Site) Kill() { s.daemon.kill() }

// Pid returns the process id of the daemon.
func (s *Site) Pid() int { return s.daemon.cmd.Process.Pid }

func (s *Site) logFile() string { return filepath.Join(s.Dir, "pmcheck.log") }

// Status returns the daemon's status.
func (s *Site) Status() Status {
	s.TB.Helper()
	status, err := s.status()
	Must(s.TB, err)
	return status
}

func (s *Site) status() (status Status, err error) {
	var text []byte
	if s.Host != nil {
		text, _ = s.Command("status", "--json").Output() // the exit status depends on the master's state
	} else {
		code, body, err := s.Ask("/status")
		if code != http.StatusOK || err != nil {
			return status, fmt.Errorf("/status: %d, %v", code, err)
		}
		text = []byte(body)
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return status, fmt.Errorf("status: %v in %q", err, text)
	}
	return status, nil
}

// Hold writes the operator's hold, as the command does. For ready, it lifts all holds.
func (s *Site) Hold(mode drain.Mode) {
	s.TB.Helper()
	var err error
	if mode == drain.Ready {
		_, err = s.Holds.LiftAll()
	} else {
		hold := func(drain.Hold) (drain.Hold, error) { return drain.Hold{Mode: mode}, nil }
		_, err = s.Holds.Change(drain.Operator, "", hold)
	}
	Must(s.TB, err)
}
