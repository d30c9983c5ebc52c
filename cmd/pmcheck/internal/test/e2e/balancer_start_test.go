package e2e_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// runUnit runs the shell command of a line of the example's drop-in for haproxy.service, if the example has one.
func (e *example) runUnit(setting string) {
	e.t.Helper()
	lab.Need(e.t, "socat", "socat")

	line := regexp.MustCompile(`(?m)^#     ` + setting + `=/bin/sh -c "(.*)"$`).FindStringSubmatch(e.text)
	if line != nil {
		lab.Output(e.t, exec.Command("/bin/sh", "-c", line[1]))
	}
}

// settled returns what HAProxy takes from its configuration or from a state file: of each server its backend and
// name, whether it was put into maintenance by hand, its weight, port and port for checks.
func (e *example) settled() (list []string) {
	e.t.Helper()

	for line := range strings.Lines(e.haproxy.Admin("show servers state")) {
		f := strings.Fields(line)
		if len(f) < 25 || strings.HasPrefix(line, "#") {
			continue
		}
		list = append(list, f[1]+"/"+f[3]+" maintenance="+f[6]+" weight="+f[7]+" port="+f[18]+" check-port="+f[21])
	}

	if len(list) == 0 {
		e.t.Fatal("HAProxy names no server")
	}
	return list
}

// TestAStartedExampleForgetsTheOneBefore: a HAProxy that is started has the ports, weights and states of its
// configuration, whatever was set by hand, and written by a reload, in the one before.
func TestAStartedExampleForgetsTheOneBefore(t *testing.T) {
	lab.Real(t)
	files, err := filepath.Glob(lab.File(t, "examples/haproxy/*.cfg"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}

	for i, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			e := newExample(t, filepath.Base(file), 20+i)

			start := func() []string {
				t.Helper()
				e.runUnit("ExecStartPre")
				e.haproxy = lab.StartHAProxy(t, e.text)
				return e.settled()
			}

			server, _, _ := strings.Cut(start()[0], " ")
			e.haproxy.Admin("set server " + server + " state maint")
			e.haproxy.Admin("set server " + server + " weight 7")
			e.runUnit("ExecReload")
			e.haproxy.Stop()

			otherPorts := strings.NewReplacer("8140", "8141", "9200", "9201")
			e.text = otherPorts.Replace(e.text)
			second := start()
			e.haproxy.Stop()

			other := newExample(t, e.file, 40+i) // its state file is another
			other.text = otherPorts.Replace(other.text)
			other.runUnit("ExecStartPre")
			other.haproxy = lab.StartHAProxy(t, other.text)
			if diff := cmp.Diff(other.settled(), second); diff != "" {
				t.Errorf("the second HAProxy differs from a fresh one (-fresh +second):\n%s", diff)
			}
		})
	}
}
