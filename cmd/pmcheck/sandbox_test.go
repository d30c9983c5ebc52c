package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/check"
)

const (
	unitFile     = "../../systemd/pmcheck.service"
	allowedCalls = "testdata/allowed-calls.txt"
)

// TestTheUnitAllowsWhatChecksNeed: a check that passes everywhere else is dead under the packaged unit without it.
func TestTheUnitAllowsWhatChecksNeed(t *testing.T) {
	u := readSandbox(t)
	for _, c := range check.All() {
		for _, call := range c.Needs.Calls {
			if !slices.Contains(u.calls, call) {
				t.Errorf("check %s needs the system call %s, which SystemCallFilter= of systemd/pmcheck.service forbids",
					c.Name, call)
			}
		}
		for _, family := range c.Needs.Families {
			if !slices.Contains(u.families, family) {
				t.Errorf("check %s needs %s, which RestrictAddressFamilies= of systemd/pmcheck.service forbids", c.Name, family)
			}
		}
		for _, path := range c.Needs.Paths {
			for _, hidden := range u.hidden {
				if path == hidden || strings.HasPrefix(path, hidden+"/") {
					t.Errorf("check %s reads %s, and systemd/pmcheck.service hides %s", c.Name, path, hidden)
				}
			}
		}
	}
}

// TestChecksSayWhichSystemCallsTheyNeed: the calls that package check makes through package unix or syscall are in the
// Needs of a check. What others make for it, such as package os, is not seen.
func TestChecksSayWhichSystemCallsTheyNeed(t *testing.T) {
	var said []string
	for _, c := range check.All() {
		said = append(said, c.Needs.Calls...)
	}

	found := false
	for _, p := range packages(t) {
		if p.room != "check" {
			continue
		}
		set := token.NewFileSet()
		for _, f := range parse(t, set, p) {
			ast.Inspect(f, func(n ast.Node) bool {
				call, is := systemCall(n)
				if !is {
					return true
				}
				found = true
				isCall := func(needed string) bool { return strings.ReplaceAll(needed, "_", "") == strings.ToLower(call) }
				if !slices.ContainsFunc(said, isCall) {
					t.Errorf("%s: the system call %s is in the Needs of no check", set.Position(n.Pos()), call)
				}
				return true
			})
		}
	}
	if !found {
		t.Error("no system call was found in the source of package check")
	}
}

// systemCall returns the function of package unix or syscall that a node calls, such as ClockGettime.
func systemCall(n ast.Node) (name string, is bool) {
	call, is := n.(*ast.CallExpr)
	if !is {
		return "", false
	}
	function, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return "", false
	}
	from, is := function.X.(*ast.Ident)
	if !is || from.Name != "unix" && from.Name != "syscall" {
		return "", false
	}
	return function.Sel.Name, true
}

// sandbox is what a unit leaves to its processes.
type sandbox struct {
	calls    []string
	families []string
	hidden   []string
}

func readSandbox(t *testing.T) (u sandbox) {
	t.Helper()
	data, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	var filter []string
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "SystemCallFilter":
			filter = append(filter, value)
		case "RestrictAddressFamilies":
			u.families = append(u.families, strings.Fields(value)...)
		case "InaccessiblePaths":
			for _, path := range strings.Fields(value) {
				u.hidden = append(u.hidden, strings.TrimPrefix(path, "-"))
			}
		case "ProtectHome":
			u.hidden = append(u.hidden, "/home", "/root", "/run/user")
		}
	}
	if len(filter) == 0 || len(u.families) == 0 || len(u.hidden) == 0 {
		t.Fatalf("%s: %q, %+v", unitFile, filter, u)
	}
	u.calls = callsOf(t, filter)
	return u
}

// callsOf returns the system calls that the lines SystemCallFilter= of a unit allow, as a file has them that -update
// writes: the sets of systemd 252.
func callsOf(t *testing.T, filter []string) []string {
	t.Helper()
	head := "# go test ./cmd/pmcheck -run Unit -update, of SystemCallFilter=" + strings.Join(filter, " ") + "\n"
	if *update {
		var allowed []string
		for _, line := range filter {
			denied := strings.HasPrefix(line, "~")
			for _, set := range strings.Fields(strings.TrimPrefix(line, "~")) {
				for _, call := range expand(t, set) {
					allowed = slices.DeleteFunc(allowed, func(one string) bool { return one == call })
					if !denied {
						allowed = append(allowed, call)
					}
				}
			}
		}
		slices.Sort(allowed)
		if err := os.WriteFile(allowedCalls, []byte(head+strings.Join(allowed, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	data, err := os.ReadFile(allowedCalls)
	if err != nil {
		t.Fatal(err)
	}
	calls, is := strings.CutPrefix(string(data), head)
	if !is {
		t.Fatalf("%s is of another SystemCallFilter=: go test ./cmd/pmcheck -run Unit -update", allowedCalls)
	}
	return strings.Fields(calls)
}

// expand returns the system calls of a set, such as @system-service, and of the sets in it.
func expand(t *testing.T, set string) (calls []string) {
	t.Helper()
	if !strings.HasPrefix(set, "@") {
		return []string{set}
	}
	out, err := exec.Command("systemd-analyze", "syscall-filter", set).Output()
	if err != nil {
		t.Fatal(fmt.Errorf("systemd-analyze syscall-filter %s: %w", set, err))
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if line != "" && line != set && !strings.HasPrefix(line, "#") {
			calls = append(calls, expand(t, line)...)
		}
	}
	return calls
}
