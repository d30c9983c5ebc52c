package module_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// A taskResult is the part of the JSON object written by a task that the tests read.
type taskResult struct {
	Noop     bool
	Would    string
	Reached  bool
	For      string
	Certname string
	Output   string
	Services []struct{ Mode drain.Mode }
	Error    *struct {
		Kind    string
		Msg     string
		Details struct {
			ExitCode int `json:"exit_code"`
		}
	} `json:"_error"`
}

// task runs a task as Bolt does on a target, with the files of the module below _installdir
// and the parameters in the environment. The task must write one JSON object.
func (sh *shell) task(name string, parameters like) taskResult {
	sh.t.Helper()
	module := moduleDir(sh.t)
	cmd := sh.command("/bin/sh", filepath.Join(module, "tasks", name+".sh"))
	cmd.Env = append(cmd.Env, "PT__task=pmcheck::"+name, "PT__installdir="+filepath.Dir(module))
	for parameter, value := range parameters {
		cmd.Env = append(cmd.Env, "PT_"+parameter+"="+value)
	}
	out, err := cmd.Output()
	var result taskResult
	if jsonErr := json.Unmarshal(out, &result); jsonErr != nil {
		sh.t.Fatalf("%s %v (%v) does not write a JSON object: %v\n%s", name, parameters, err, jsonErr, out)
	}
	switch status := cmd.ProcessState.ExitCode(); {
	case result.Error == nil && status != 0:
		sh.t.Errorf("%s: the exit status is %d without an _error", name, status)
	case result.Error != nil && (status == 0 || status != result.Error.Details.ExitCode ||
		!strings.HasPrefix(result.Error.Kind, "pmcheck/")):
		sh.t.Errorf("%s: the exit status is %d with _error %+v", name, status, *result.Error)
	}
	return result
}

type like map[string]string

func TestTasksHoldAndReleaseAMaster(t *testing.T) {
	sh := startShell(t)
	const reason = "a \"quoted\" reason, $HOME and \\n"
	got := sh.task("drain", like{"hold": "bolt", "reason": reason, "for": "1h", "wait": "30s"})
	if !strings.Contains(got.Output, ": "+reason+", until ") || !strings.Contains(got.Output, "in effect: ") {
		t.Errorf("drain: %+v", got)
	}
	sh.assertMode(drain.Drain, "bolt")
	if got := sh.task("status", nil); got.Certname != lab.StandInName || got.Services[0].Mode != drain.Drain {
		t.Errorf("status of a held master: %+v", got)
	}
	if got := sh.task("wait", like{"for": "out"}); !got.Reached || got.For != "out" {
		t.Errorf("wait: %+v", got)
	}
	if got := sh.task("ready", like{"all": "true", "wait": "30s"}); strings.Count(got.Output, "lifted: ") != 1 {
		t.Errorf("ready, all: %+v", got)
	}
	sh.assertMode(drain.Ready)

	const command = `pmcheck status >"$HOME/status"; echo "it's" $?; grep -q "drain by rolling" "$HOME/status"`
	if got := sh.task("with_hold", like{"command": command, "hold": "rolling"}); got.Output != "it's 3" {
		t.Errorf("with_hold: %+v", got)
	}
	sh.assertMode(drain.Ready)
	if got := sh.task("with_hold", like{"command": "exit 9"}); got.Error == nil || got.Error.Details.ExitCode != 9 {
		t.Errorf("with_hold of a command that fails: %+v", got)
	}
	sh.assertMode(drain.Ready)
}

func TestTasksReportKindsOfErrors(t *testing.T) {
	lab.Real(t)
	sh := &shell{lab.StartSite(t, lab.SiteOptions{YAML: "balancers: [127.0.0.1]\n"}), t}
	sh.Record(200 * time.Millisecond) // a balancer, which has to be told before the master is out
	for _, test := range []struct {
		task       string
		parameters like
		kind       string
		mode       drain.Mode
	}{
		{"drain", like{"hold": "No Such\tName"}, "pmcheck/usage", drain.Ready},
		{"maint", like{"for": "\"soon\"\n\\"}, "pmcheck/usage", drain.Ready},
		{"wait", like{"for": ""}, "pmcheck/usage", drain.Ready},
		{"wait", like{"for": "out", "timeout": "200ms"}, "pmcheck/timeout", drain.Ready},
		// One that is not out in time stays in service; one that is out and not idle in time stays drained.
		{"drain", like{"wait": "1ns"}, "pmcheck/refused", drain.Ready},
		{"drain", like{"wait": "2s", "force": "true"}, "pmcheck/timeout", drain.Drain},
	} {
		var holders []string
		if test.mode == drain.Drain {
			sh.SetMaster(checktest.JRubyStuck)
			holders = []string{drain.Operator}
		}
		got := sh.task(test.task, test.parameters)
		if got.Error == nil || got.Error.Kind != test.kind || got.Error.Msg == "" {
			t.Errorf("%s %v: the error is %+v, want one of kind %s", test.task, test.parameters, got.Error, test.kind)
		}
		sh.assertMode(test.mode, holders...)
	}
}

func TestTasksPassTheirParametersToPmcheck(t *testing.T) {
	lab.Real(t)
	sh := &shell{lab.NewSite(t, lab.SiteOptions{}), t}
	for _, test := range []struct {
		task       string
		parameters like
		want       string
	}{
		{"drain", like{}, "pmcheck drain --hold=operator"},
		{"drain", like{
			"hold":         "h",
			"service":      "ca",
			"reason":       "r s",
			"for":          "1h",
			"until_reboot": "true",
			"wait":         "5m",
			"force":        "true",
		}, "pmcheck drain --hold=h --service=ca --reason=r s --for=1h --until-reboot --wait --timeout=5m --force"},
		{"maint", like{"until_reboot": "false"}, "pmcheck maint --hold=operator"},
		{"with_hold", like{"command": "apt-get install -y x"},
			"pmcheck with-hold --hold=with-hold -- sh -c apt-get install -y x"},
		{"with_hold", like{
			"command": "true",
			"hold":    "h",
			"service": "server",
			"reason":  "r s",
			"wait":    "5m",
			"return":  "4m",
			"keep":    "true",
		}, "pmcheck with-hold --hold=h --service=server --reason=r s --timeout=5m --return=4m --keep -- sh -c true"},
		{"ready", like{"service": "ca", "wait": "5m"}, "pmcheck ready --hold=operator --service=ca --wait --timeout=5m"},
		{"ready", like{"all": "true", "hold": "operator"}, "pmcheck ready --all"},
		{"wait", like{"for": "out", "service": "ca"}, "pmcheck wait --for=out --timeout=5m --service=ca"},
	} {
		test.parameters["_noop"] = "true"
		if got := sh.task(test.task, test.parameters); got.Would != test.want {
			t.Errorf("%s %v would run %q, want %q", test.task, test.parameters, got.Would, test.want)
		}
	}
}
