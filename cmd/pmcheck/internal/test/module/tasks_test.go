//go:build linux

package module_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// A taskResult is the part of the JSON object written by a task that the tests read.
type taskResult struct {
	Set      *drain.Hold
	Lifted   []drain.Hold
	Mode     drain.Mode
	InEffect bool `json:"in_effect"`
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
			Result   *struct{ Mode drain.Mode }
		}
	} `json:"_error"`
}

// task runs a task as Bolt does on a target, with the files of the module below _installdir
// and the parameters in the environment. The task must write one JSON object.
func (sh *shell) task(installdir, name string, parameters map[string]string) taskResult {
	sh.t.Helper()
	cmd := sh.command("/bin/sh", filepath.Join(installdir, "pmcheck", "tasks", name+".sh"))
	cmd.Env = append(cmd.Env, "PT__task=pmcheck::"+name, "PT__installdir="+installdir)
	for parameter, value := range parameters {
		cmd.Env = append(cmd.Env, "PT_"+parameter+"="+value)
	}
	out, err := cmd.Output()
	var result taskResult
	if jsonErr := json.Unmarshal(out, &result); jsonErr != nil {
		sh.t.Fatalf("%s %v (%v) does not write a JSON object: %v\n%s", name, parameters, err, jsonErr, out)
	}
	status := exitStatus(sh.t, err)
	switch {
	case result.Error == nil && status != 0:
		sh.t.Errorf("%s: the exit status is %d without an _error", name, status)
	case result.Error != nil && (status == 0 || status != result.Error.Details.ExitCode ||
		!strings.HasPrefix(result.Error.Kind, "pmcheck/")):
		sh.t.Errorf("%s: the exit status is %d with _error %+v", name, status, *result.Error)
	}
	return result
}

// like maps names of parameters to their values.
type like map[string]string

func TestTasksHoldAndReleaseAMaster(t *testing.T) {
	lab.Real(t)
	sh := startShell(t, "")
	dir := filepath.Dir(moduleDir(t))

	if got := sh.task(dir, "status", nil); got.Certname != "standin.lab.example" || got.Services[0].Mode != drain.Ready {
		t.Errorf("status: %+v", got)
	}
	if got := sh.task(dir, "wait", like{"for": "ready"}); !got.Reached || got.For != "ready" {
		t.Errorf("wait: %+v", got)
	}

	const reason = "a \"quoted\" reason, $HOME and \\n"
	got := sh.task(dir, "drain", like{"hold": "bolt", "reason": reason, "for": "1h", "wait": "30s"})
	if got.Set == nil || got.Set.Reason != reason || got.Set.Until.IsZero() || !got.InEffect {
		t.Errorf("drain: %+v", got)
	}
	sh.assertMode(drain.Drain, "bolt")
	if got := sh.task(dir, "status", nil); got.Error != nil || got.Services[0].Mode != drain.Drain {
		t.Errorf("status of a held master: %+v", got)
	}
	if got := sh.task(dir, "wait", like{"for": "out"}); !got.Reached || got.For != "out" {
		t.Errorf("wait: %+v", got)
	}
	if got := sh.task(dir, "maint", like{"until_reboot": "true"}); got.Set == nil || !got.Set.UntilReboot ||
		got.Set.Holder != drain.Operator {
		t.Errorf("maint: %+v", got)
	}
	sh.assertMode(drain.Maint, "bolt", drain.Operator)

	if got := sh.task(dir, "ready", nil); len(got.Lifted) != 1 || got.Mode != drain.Drain {
		t.Errorf("ready: %+v", got)
	}
	sh.assertMode(drain.Drain, "bolt")
	if got := sh.task(dir, "ready", like{"all": "true", "wait": "30s"}); len(got.Lifted) != 1 || got.Mode != drain.Ready {
		t.Errorf("ready, all: %+v", got)
	}
	sh.assertMode(drain.Ready)
}

func TestWithHoldTaskHoldsDuringItsCommand(t *testing.T) {
	lab.Real(t)
	sh := startShell(t, "")
	dir := filepath.Dir(moduleDir(t))
	const command = `pmcheck status >"$HOME/status"; echo "it's" $?; grep -q "drain by rolling" "$HOME/status"`
	if got := sh.task(dir, "with_hold", like{"command": command, "hold": "rolling"}); got.Output != "it's 3" {
		t.Errorf("the result is %+v", got)
	}
	sh.assertMode(drain.Ready)
	for keep, holders := range map[string][]string{"false": nil, "true": {"rolling"}} {
		got := sh.task(dir, "with_hold", like{"command": "exit 9", "hold": "rolling", "keep": keep})
		if got.Error == nil || got.Error.Details.ExitCode != 9 {
			t.Errorf("keep=%s: the result is %+v", keep, got)
		}
		mode := drain.Ready
		if len(holders) > 0 {
			mode = drain.Drain
		}
		sh.assertMode(mode, holders...)
		sh.must("pmcheck", "ready", "--hold", "rolling")
	}
}

func TestTasksReportKindsOfErrors(t *testing.T) {
	lab.Real(t)
	sh := startShell(t, "")
	dir := filepath.Dir(moduleDir(t))
	for _, test := range []struct {
		name, task string
		parameters like
		kind       string
	}{
		{"bad name", "drain", like{"hold": "No Such\tName"}, "pmcheck/usage"},
		{"bad time", "maint", like{"for": "\"soon\"\n\\"}, "pmcheck/usage"},
		{"unknown service", "status", like{"service": "nonsense"}, "pmcheck/usage"},
		{"not in time", "wait", like{"for": "out", "timeout": "200ms"}, "pmcheck/timeout"},
		{"nothing to wait for", "wait", like{"for": ""}, "pmcheck/usage"},
	} {
		t.Run(test.name, func(t *testing.T) {
			sh := sh.with(t)
			got := sh.task(dir, test.task, test.parameters)
			if got.Error == nil || got.Error.Kind != test.kind || got.Error.Msg == "" {
				t.Errorf("the result is %+v, want an error of kind %s", got, test.kind)
			}
		})
	}
	sh.assertMode(drain.Ready)

	// One that is not out in time stays in service; one that is out and not idle in time stays drained.
	if got := sh.task(dir, "drain", like{"wait": "1ns"}); got.Error == nil || got.Error.Kind != "pmcheck/refused" {
		t.Errorf("drain, not out in time: %+v", got)
	}
	sh.assertMode(drain.Ready)
	sh.site.SetMaster(checktest.JRubyStuck)
	got := sh.task(dir, "drain", like{"wait": "2s", "force": "true"})
	if got.Error == nil || got.Error.Kind != "pmcheck/timeout" || got.Error.Details.Result == nil ||
		got.Error.Details.Result.Mode != drain.Drain {
		t.Errorf("drain, not idle in time: %+v", got)
	}
	sh.assertMode(drain.Drain, drain.Operator)
}

func TestTasksPassTheirParametersToPmcheck(t *testing.T) {
	lab.Real(t)
	sh := &shell{t: t, dir: t.TempDir()}
	dir := filepath.Dir(moduleDir(t))
	for _, test := range []struct {
		name, task string
		parameters like
		want       string
	}{
		{"drain", "drain", nil, "pmcheck drain --hold=operator"},
		{"drain with everything", "drain",
			like{
				"hold":         "h",
				"service":      "ca",
				"reason":       "r s",
				"for":          "1h",
				"until_reboot": "true",
				"wait":         "5m",
				"force":        "true",
			},
			"pmcheck drain --hold=h --service=ca --reason=r s --for=1h --until-reboot --wait=5m --force"},
		{"maint", "maint", like{"until_reboot": "false"}, "pmcheck maint --hold=operator"},
		{"with_hold", "with_hold", like{"command": "apt-get install -y x"},
			"pmcheck with-hold --hold=with-hold -- sh -c apt-get install -y x"},
		{"with_hold with everything", "with_hold",
			like{
				"command": "true",
				"hold":    "h",
				"service": "server",
				"reason":  "r s",
				"wait":    "5m",
				"return":  "4m",
				"keep":    "true",
			},
			"pmcheck with-hold --hold=h --service=server --reason=r s --wait=5m --return=4m --keep -- sh -c true"},
		{"ready", "ready", like{"service": "ca", "wait": "5m"}, "pmcheck ready --hold=operator --service=ca --wait=5m"},
		{"ready all", "ready", like{"all": "true", "hold": "operator"}, "pmcheck ready --all"},
		{"wait", "wait", like{"for": "out", "service": "ca"}, "pmcheck wait --for=out --timeout=5m --service=ca"},
	} {
		t.Run(test.name, func(t *testing.T) {
			parameters := like{"_noop": "true"}
			for parameter, value := range test.parameters {
				parameters[parameter] = value
			}
			sh := sh.with(t)
			if got := sh.task(dir, test.task, parameters); got.Would != test.want {
				t.Errorf("the task would run %q, want %q", got.Would, test.want)
			}
		})
	}
}
