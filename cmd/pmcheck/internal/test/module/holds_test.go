package module_test

import (
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

func TestPuppetExampleChangesOnlyItsOwnHold(t *testing.T) {
	lab.Need(t, "puppet", "puppet-agent")
	sh := startShell(t)
	apply := func(parameters string, want int) {
		t.Helper()
		manifest := filepath.Join(sh.Dir, "hold.pp")
		class := strings.ReplaceAll(lab.ReadFile(t, "examples/holds/hold.pp"), "/var/lib/pmcheck/holds",
			sh.Holds.Persistent)
		lab.Write(t, manifest, class+"class { 'profile::pmcheck_hold': "+parameters+" }\n")
		exits(t, sh.command("puppet", "apply", "--detailed-exitcodes", "--color=false", "--confdir",
			filepath.Join(sh.Dir, "conf"),
			"--vardir", filepath.Join(sh.Dir, "var"), "--modulepath", modules, manifest), want)
	}
	sh.MustRun("drain", "--now", "--reason", "the operator's own")
	for _, step := range []struct {
		parameters string
		want       int
		mode       drain.Mode
		holders    []string
	}{
		{"held => true, mode => 'maint'", changed, drain.Maint, []string{drain.Operator, "puppet"}},
		{"held => true, mode => 'maint'", unchanged, drain.Maint, []string{drain.Operator, "puppet"}},
		{"held => false", changed, drain.Drain, []string{drain.Operator}},
		{"held => false", unchanged, drain.Drain, []string{drain.Operator}},
	} {
		apply(step.parameters, step.want)
		sh.assertMode(step.mode, step.holders...)
	}
}

func TestAnsibleExampleLiftsItsHoldOnlyAfterSuccess(t *testing.T) {
	lab.Need(t, "ansible-playbook", "ansible-core")
	sh := startShell(t)
	play := func(work string, want int) {
		t.Helper()
		cmd := sh.command("ansible-playbook", "--inventory", "localhost,", "--connection", "local",
			lab.File(t, "examples/holds/hold.yml"),
			"-e", "masters=all", "-e", "ansible_become=false",
			"-e", "ansible_python_interpreter=/usr/bin/python3", "-e", `{"work": "`+work+`"}`)
		cmd.Env = append(cmd.Env, "ANSIBLE_LOCALHOST_WARNING=false", "ANSIBLE_LOCAL_TEMP="+sh.Dir,
			"ANSIBLE_REMOTE_TEMP="+sh.Dir)
		exits(t, cmd, want)
	}
	check := filepath.Join(sh.Dir, "held.sh")
	lab.Write(t, check, "pmcheck status; test $? = 3\n")
	play("sh "+check, 0)
	sh.assertMode(drain.Ready)
	play("false", 2) // a host has failed
	sh.assertMode(drain.Drain, "ansible")
}

func TestAnsibleExamplePassesAnsibleLint(t *testing.T) {
	lab.Real(t)
	dir := t.TempDir() // where it keeps its cache; it passes over files elsewhere
	lab.Write(t, filepath.Join(dir, "hold.yml"), lab.ReadFile(t, "examples/holds/hold.yml"))
	out := tool(t, dir, "ansible-lint", "ansible-lint", "--offline", "--nocolor", "--profile", "production", "hold.yml")
	if !strings.Contains(out, "Passed with production profile: 0 failure(s), 0 warning(s) on 1 files") {
		t.Errorf("ansible-lint:\n%s", out)
	}
}

func TestCloudInitExampleHoldsANewHost(t *testing.T) {
	var config struct {
		Files []struct{ Path, Content, Permissions string } `yaml:"write_files"`
	}
	lab.Must(t, yaml.Unmarshal([]byte(lab.ReadFile(t, "examples/holds/cloud-init.yaml")), &config))
	store := drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
	for _, f := range config.Files {
		if filepath.Dir(f.Path) != "/var/lib/pmcheck/holds" || f.Permissions != "0644" {
			t.Errorf("%s with the permissions %s", f.Path, f.Permissions)
		}
		lab.Write(t, filepath.Join(store.Persistent, filepath.Base(f.Path)), f.Content)
	}
	holds := store.Read().Holds()
	if len(holds) != 1 || holds[0].Holder != "new-host" || holds[0].Mode != drain.Maint || holds[0].Code != "" {
		t.Errorf("it sets %+v", holds)
	}
}
