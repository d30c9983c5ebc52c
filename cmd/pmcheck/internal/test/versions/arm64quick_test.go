//go:build linux

package versions_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What the emulator cannot do.
const (
	// It runs one program. One that this program executes is given to the kernel, which knows
	// no programs for arm64, and now and then the process hangs before that. Where the machine
	// has registered an emulator for them, the scripts of the command line do not end within
	// minutes. These tests are not run.
	noExec = "the program cannot execute itself"
	// It has no sockets of the kind NETLINK_SOCK_DIAG, with which a drained master counts its
	// connections. A test that fails for want of them says this.
	noSockDiag = "list TCP connections: socket: protocol not supported"
)

// lacking lists the tests that the emulator cannot run, by package, each with the reason. They
// pass on hardware.
func lacking() map[string]map[string]string {
	return map[string]map[string]string{
		"cli": {
			"TestScripts": noExec,
			"TestWaitForADaemonThatRecoversStartsWithTheHold": noSockDiag,
		},
		"drain": {
			"TestKilledWriterLeavesAWholeState": noExec,
			"TestMissingPermissionIsReported":   noExec,
			"TestOnlyWritersCanOpenTheLock":     noExec,
			"TestWriterOfOneDirectoryCanAccept": noExec,
		},
		"guard": {
			"TestAStopBehindAGateDoesNotLeaveThePoolWithoutAMaster": noSockDiag,
			"TestBeforeStop": noSockDiag,
		},
		"systemd": {"TestListenersAreTakenByName": noExec},
		"tcp": {
			"TestConnectionsListsThoseOfThePort":         noSockDiag,
			"TestConnectionsOfAnotherListenerAreLeftOut": noSockDiag,
			"TestServerThatAcceptsNothingIsFound":        noSockDiag,
		},
		"withhold": {
			"TestEachSignalIsPassedOnAndTheHoldIsLifted":            noExec,
			"TestExitStatusTellsTheSignal":                          noExec,
			"TestHoldIsRenewedWhileTheCommandRunsAndEndsAfterAKill": noExec,
		},
	}
}

// runQuickTests runs the quick tests of packages for arm64: of all, or of those with these
// names. It returns what was left out, as Markdown.
func runQuickTests(t *testing.T, names ...string) string {
	t.Helper()
	need(t)
	list, dir := packages(t, names...), t.TempDir()
	args := []string{"test", "-c", "-o", dir + "/"}
	for _, p := range list {
		args = append(args, p.path)
	}
	buildARM64(t, args...)
	var total int
	var rows []string
	for _, p := range list {
		t.Run(p.name(), func(t *testing.T) {
			program := filepath.Join(dir, p.name()+".test")
			assertARM64(t, program)
			passed, left := p.emulate(t, program)
			total += passed
			rows = append(rows, left...)
		})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d tests of %d packages passed. The emulator cannot run these:\n\n",
		total, len(list))
	b.WriteString("| Package | Test | Reason |\n| --- | --- | --- |\n")
	return b.String() + strings.Join(rows, "")
}

// emulate runs the quick tests of a package. It returns how many passed, and a row for each
// that the emulator cannot run. Any other failure, and a test that does not end, fails the test.
func (p tested) emulate(t *testing.T, program string) (passed int, left []string) {
	t.Helper()
	list, err := exec.Command(emulator, program, "-test.list=^Test").Output()
	if err != nil {
		t.Fatal(err)
	}
	ended, said, all := p.run(t, program)
	for _, name := range strings.Fields(string(list)) {
		reason, may := lacking()[p.name()][name]
		switch how := ended[name]; {
		case reason == noExec && how == "", how == "fail" && may && strings.Contains(said[name], reason):
			left = append(left, fmt.Sprintf("| `%s` | `%s` | %s |\n", p.name(), name, reason))
		case how == "pass":
			passed++
		case how == "skip":
		case how == "fail":
			t.Errorf("%s failed:\n%s", name, said[name])
		default:
			t.Fatalf("%s did not end:\n%s", name, all)
		}
	}
	if passed == 0 {
		t.Errorf("no test passed:\n%s", all)
	}
	return passed, left
}

// run runs a test program in the emulator. It returns by test how it ended, pass, fail or skip,
// and what it said, and all that the program said.
func (p tested) run(t *testing.T, program string) (ended, said map[string]string, all string) {
	t.Helper()
	var skip []string
	for name, reason := range lacking()[p.name()] {
		if reason == noExec {
			skip = append(skip, "^"+name+"$")
		}
	}
	cmd := exec.Command("go", "tool", "test2json", emulator, program,
		"-test.short", "-test.v=test2json", "-test.timeout=5m", "-test.skip="+strings.Join(skip, "|"))
	cmd.Dir = p.dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	ended, said = map[string]string{}, map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var e struct{ Action, Test, Output string }
		if err := d.Decode(&e); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		all += e.Output
		name, _, sub := strings.Cut(e.Test, "/")
		said[name] += e.Output
		if !sub && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip") {
			ended[name] = e.Action
		}
	}
	return ended, said, all + errs.String()
}
