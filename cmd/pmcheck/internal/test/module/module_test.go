package module_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func tool(t *testing.T, dir, debianPackage, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(lab.Need(t, program, debianPackage), args...)
	cmd.Dir = dir
	return lab.Output(t, cmd)
}

func TestModulePassesLintersAndParsers(t *testing.T) {
	lab.Real(t)
	dir := moduleDir(t)
	if out := tool(t, dir, "puppet-lint", "puppet-lint", "."); out != "" {
		t.Errorf("puppet-lint:\n%s", out)
	}
	if out := tool(t, lab.File(t, "examples/holds"), "puppet-lint", "puppet-lint", "--fail-on-warnings",
		"--no-autoloader_layout-check", "hold.pp"); out != "" {
		t.Errorf("puppet-lint of the example:\n%s", out)
	}
	tool(t, dir, "metadata-json-lint", "metadata-json-lint", "--fail-on-warnings", "--strict-dependencies",
		"metadata.json")
	tool(t, dir, "puppet-agent", "puppet", "parser", "validate", "manifests", "types", "functions")
	tool(t, dir, "puppet-agent", "puppet", "parser", "validate", "--tasks", "plans")
	tool(t, dir, "puppet-agent", "puppet", "epp", "validate", "templates/pmcheck.yaml.epp")
}

func TestReferenceIsFresh(t *testing.T) {
	lab.Real(t)
	dir := moduleDir(t)
	generated := filepath.Join(t.TempDir(), "REFERENCE.md")
	tool(t, dir, "puppet-agent and puppet-strings", "puppet", "strings", "generate", "--format", "markdown", "--out",
		generated)
	if diff := cmp.Diff(lab.Read(t, generated), lab.ReadFile(t, "packaging/puppet/REFERENCE.md")); diff != "" {
		t.Errorf("REFERENCE.md is stale; run in packaging/puppet, in a directory with the name pmcheck:\n"+
			"puppet strings generate --format markdown --out REFERENCE.md\n%s", diff)
	}
}

// TestModulePassesItsOwnTests runs the tasks that Vox Pupuli's modules have, with the gems that Debian has.
func TestModulePassesItsOwnTests(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	for program, from := range map[string]string{"rspec": "ruby-rspec-puppet", "rubocop": "rubocop", "rake": "rake"} {
		lab.Need(t, program, from)
	}
	dir := moduleDir(t)
	tool(t, dir, "git", "git", "init", "--quiet") // one of the checks asks git
	cmd := exec.Command("rake", "validate", "lint", "check", "rubocop", "spec")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "MODULE_PATH="+filepath.Dir(dir)+":"+modules)
	out := lab.Output(t, cmd)
	for _, want := range []string{" 0 failures", " no offenses detected"} {
		if !strings.Contains(out, want) {
			t.Errorf("without %q:\n%s", want, out)
		}
	}
}

func TestEverySettingHasAParameter(t *testing.T) {
	manifest := lab.ReadFile(t, "packaging/puppet/manifests/init.pp")
	rendered := lab.ReadFile(t, "packaging/puppet/manifests/config.pp")
	loaded, err := config.Load(config.Options{File: lab.File(t, "packaging/pmcheck.yaml")})
	lab.Must(t, err)
	sections := regexp.MustCompile(`pmcheck::\((.*)\)\$`).FindStringSubmatch(
		lab.ReadFile(t, "packaging/puppet/data/common.yaml"))
	if sections == nil {
		t.Fatal("data/common.yaml has no lookup_options")
	}
	merged := regexp.MustCompile(`\|(` + sections[1] + `)\|`)

	for _, setting := range loaded.Settings() {
		name, inner, nested := strings.Cut(setting.Key, ".")
		if !regexp.MustCompile(`(?m)^ .*\$` + name + `\b.* = `).MatchString(manifest) {
			t.Errorf("class pmcheck has no parameter %s", name)
		}
		if !regexp.MustCompile(`(?m)^    '` + name + `' +=> \$pmcheck::` + name + `,$`).MatchString(rendered) {
			t.Errorf("class pmcheck::config does not write %s", name)
		}
		if nested && !strings.Contains(lab.ReadFile(t, "packaging/puppet/types/"+name+".pp"),
			"Optional['"+inner+"']") {
			t.Errorf("type Pmcheck::%s has no %s", name, inner)
		}
		if nested && !merged.MatchString("|"+name+"|") {
			t.Errorf("data/common.yaml does not merge the section %s from several levels of Hiera", name)
		}
	}
}

func TestSchemaMatchesTheProgram(t *testing.T) {
	if lab.ReadFile(t, "packaging/puppet/files/schema.sql") != budget.Schema() {
		t.Error("cp cmd/pmcheck/internal/budget/schema.sql packaging/puppet/files/")
	}
}

// TestTasksDescribeTheirParameters compares the metadata of the tasks with the scripts, and with the calls in the
// plans, whose specs do not run them.
func TestTasksDescribeTheirParameters(t *testing.T) {
	shared := lab.ReadFile(t, "packaging/puppet/files/task.sh")
	plan := ""
	for _, name := range []string{"rolling", "migrate"} {
		plan += lab.ReadFile(t, "packaging/puppet/plans/"+name+".pp")
	}
	scripts, err := filepath.Glob(lab.File(t, "packaging/puppet/tasks/*.sh"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no tasks: %v", err)
	}
	called := 0
	for _, script := range scripts {
		var metadata struct {
			Parameters map[string]struct{ Description, Type string }
		}
		path := strings.TrimSuffix(script, ".sh")
		lab.Must(t, json.Unmarshal([]byte(lab.Read(t, path+".json")), &metadata))
		text := lab.Read(t, script)
		for name, p := range metadata.Parameters {
			if p.Description == "" || p.Type == "" || !strings.Contains(text+shared, "PT_"+name) {
				t.Errorf("%s: %s has no description or no type, or is not read", script, name)
			}
		}
		used := regexp.MustCompile(`PT_([a-z]\w*)`).FindAllStringSubmatch(text, -1)
		calls := regexp.MustCompile(`run_task\('pmcheck::`+filepath.Base(path)+`'[^)]*\)`).FindAllString(plan, -1)
		for _, call := range calls {
			used = append(used, regexp.MustCompile(`'([a-z]\w*)' +=>`).FindAllStringSubmatch(call, -1)...)
		}
		for _, match := range used {
			if _, described := metadata.Parameters[match[1]]; !described {
				t.Errorf("%s: %s is not described", script, match[1])
			}
		}
		called += len(calls)
	}
	if all := strings.Count(plan, "run_task("); called != all || all == 0 {
		t.Errorf("%d of %d calls in the plans are of a task", called, all)
	}
}
