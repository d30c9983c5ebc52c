package module_test

import (
	"path/filepath"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// heldBy returns a command that fails unless the mode is drain, for what runs
// commands while it holds: status ends with 3 for a master that is held.
func heldBy(holder string) []string {
	return []string{"sh", "-c", `pmcheck status >"$HOME/status"; test $? = 3 && grep -q "drain by $1" "$HOME/status"`, "sh", holder}
}

func TestWithHold(t *testing.T) {
	lab.Real(t)
	r := newRig(t, "")
	script := tree("examples", "holds", "with-hold.sh")
	r.must("sh", append([]string{script}, heldBy("maintenance")...)...)
	r.awaitMode(drain.Ready)

	if got := exitStatus(t, r.command("sh", script, "sh", "-c", "exit 7").Run()); got != 7 {
		t.Errorf("the command ends with 7, the script with %d", got)
	}
	r.awaitMode(drain.Ready)

	r.must("pmcheck", "maint")
	r.must("sh", script, "true")
	r.awaitMode(drain.Maint, drain.Operator)
}

func TestHoldFile(t *testing.T) {
	lab.Real(t)
	r := newRig(t, "")
	script := func(args ...string) {
		t.Helper()
		cmd := r.command("sh", append([]string{tree("examples", "holds", "hold-file.sh")}, args...)...)
		cmd.Env = append(cmd.Env, "HOLDS="+r.store.Persistent)
		must(t, cmd)
	}
	script("set", "restoring the database")
	r.awaitMode(drain.Drain, "restore")
	if got := r.store.Read().Holds()[0].Reason; got != "restoring the database" {
		t.Errorf("reason %q", got)
	}
	script("set", "again")
	r.awaitMode(drain.Drain, "restore")
	script("lift")
	r.awaitMode(drain.Ready)
	script("lift")
}

func TestHoldByPuppet(t *testing.T) {
	lab.Real(t)
	lab.Need(t, "puppet", "puppet-agent")
	r := newRig(t, "")
	apply := func(parameters string) (changed bool) {
		t.Helper()
		manifest := filepath.Join(r.dir, "hold.pp")
		write(t, manifest, read(t, tree("examples", "holds", "hold.pp"))+
			"class { 'profile::pmcheck_hold': directory => '"+r.store.Persistent+"', "+parameters+" }\n")
		err := r.command("puppet", "apply", "--detailed-exitcodes", "--color=false", "--confdir", filepath.Join(r.dir, "conf"),
			"--vardir", filepath.Join(r.dir, "var"), "--modulepath", modules, manifest).Run()
		status := exitStatus(t, err)
		if status != 0 && status != 2 {
			t.Fatalf("puppet apply ends with %d", status)
		}
		return status == 2
	}
	r.must("pmcheck", "drain", "--reason", "the operator's own")
	for _, step := range []struct {
		name, parameters string
		changed          bool
		mode             drain.Mode
		holders          []string
	}{
		{"held", "held => true, mode => 'maint'", true, drain.Maint, []string{drain.Operator, "puppet"}},
		{"held again", "held => true, mode => 'maint'", false, drain.Maint, []string{drain.Operator, "puppet"}},
		{"lifted", "held => false", true, drain.Drain, []string{drain.Operator}},
		{"lifted again", "held => false", false, drain.Drain, []string{drain.Operator}},
	} {
		if changed := apply(step.parameters); changed != step.changed {
			t.Errorf("%s: changed %v, want %v", step.name, changed, step.changed)
		}
		r.awaitMode(step.mode, step.holders...)
	}
}

func TestHoldByAnsible(t *testing.T) {
	lab.Real(t)
	lab.Need(t, "ansible-playbook", "ansible-core")
	r := newRig(t, "")
	play := func(work string) int {
		cmd := r.command("ansible-playbook", "--inventory", "localhost,", "--connection", "local", tree("examples", "holds", "hold.yml"),
			"-e", "masters=all", "-e", "ansible_become=false",
			"-e", "ansible_python_interpreter=/usr/bin/python3", "-e", `{"work": "`+work+`"}`)
		cmd.Env = append(cmd.Env, "ANSIBLE_LOCALHOST_WARNING=false", "ANSIBLE_LOCAL_TEMP="+r.dir, "ANSIBLE_REMOTE_TEMP="+r.dir)
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		return exitStatus(t, err)
	}
	check := filepath.Join(r.dir, "held.sh")
	write(t, check, "pmcheck status; test $? = 3\n")
	if got := play("sh " + check); got != 0 {
		t.Errorf("the play ends with %d", got)
	}
	r.awaitMode(drain.Ready)
	if got := play("false"); got == 0 {
		t.Error("the play succeeds though the work fails")
	}
	r.awaitMode(drain.Drain, "ansible")
}
