package lab

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// A process is a started program with its children. The test's cleanup kills those that
// still run. The output goes to a file; see showOnFailure.
type process struct {
	tb   testing.TB
	cmd  *exec.Cmd
	done chan struct{} // closed once the program has been waited for
}

// start runs cmd with its output appended to the file log, which is shown if the test fails.
// The kernel kills it when the test process dies. The caller must not be a goroutine that ends
// while locked to its thread.
func start(tb testing.TB, cmd *exec.Cmd, log string) *process {
	tb.Helper()
	showOnFailure(tb, log)
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	Must(tb, err)
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	Must(tb, cmd.Start())
	p := &process{tb: tb, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // the exit status is in cmd.ProcessState
	}()
	tb.Cleanup(p.kill)
	return p
}

// kill ends the program and its process group with SIGKILL and waits until all
// of them are gone. If the program has already ended, kill does nothing.
func (p *process) kill() {
	p.tb.Helper()
	if !p.alive() {
		return
	}
	group := p.cmd.Process.Pid
	_ = syscall.Kill(-group, syscall.SIGKILL) // may just have ended
	<-p.done
	WaitFor(p.tb, 10*time.Second, 2*time.Millisecond, func() error { return groupGone(group) })
}

// groupGone returns an error while a member of the process group still runs. It looks in
// /proc, since wait(2) does not work for the children of a killed program.
func groupGone(group int) error {
	procs, err := procfs.AllProcs()
	if err != nil {
		return err
	}
	for _, proc := range procs {
		stat, err := proc.Stat()
		if err == nil && stat.PGRP == group && stat.State != "Z" {
			return fmt.Errorf("%s (process %d) still runs", stat.Comm, stat.PID)
		}
	}
	return nil
}

func (p *process) signal(sig os.Signal) {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.tb.Fatalf("signal %v to %s: %v", sig, p.cmd.Path, err)
	}
}

func (p *process) waitExit(within time.Duration) {
	p.tb.Helper()
	select {
	case <-p.done:
	case <-time.After(within):
		p.tb.Fatalf("%s still runs after %v", p.cmd.Path, within)
	}
}

func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// died returns an error once the program has ended, for functions passed to WaitFor.
func (p *process) died() error {
	if p.alive() {
		return nil
	}
	return fmt.Errorf("%s: %v", p.cmd.Path, p.cmd.ProcessState)
}

// showOnFailure copies the end of a file to the log of a failed test.
// Register it after the cleanup that removes the file.
func showOnFailure(tb testing.TB, file string) {
	tb.Cleanup(func() {
		tb.Helper()
		if tb.Failed() {
			tb.Logf("%s ends with:\n%s", file, tail(file, 40))
		}
	})
}

func tail(file string, n int) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Output runs a command, which must succeed, and returns what it prints on both streams.
func Output(tb testing.TB, cmd *exec.Cmd) string {
	tb.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// clockTick is the unit of CPU times in /proc/PID/stat on every Linux architecture.
const clockTick = 10 * time.Millisecond

// CPUTime returns the CPU time (user and system) that the process has used since it
// started, including its children that have ended and that it has waited for. The
// resolution is 10 ms, so measurements should last seconds.
func CPUTime(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	proc, err := procfs.NewProc(pid)
	Must(tb, err)
	stat, err := proc.Stat()
	Must(tb, err)
	own, children := stat.UTime+stat.STime, stat.CUTime+stat.CSTime
	return time.Duration(own)*clockTick + time.Duration(children)*clockTick
}
