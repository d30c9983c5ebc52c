package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestDependabotSeesEveryListOfDependencies: each go.mod, the Gemfile and the workflows.
func TestDependabotSeesEveryListOfDependencies(t *testing.T) {
	var config struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directory   string
			Directories []string
		}
	}
	lab.Must(t, yaml.Unmarshal([]byte(lab.ReadFile(t, ".github/dependabot.yml")), &config))
	var got []string
	for _, u := range config.Updates {
		for _, dir := range append(u.Directories, u.Directory) {
			if dir != "" {
				got = append(got, u.Ecosystem+" "+dir)
			}
		}
	}

	want := []string{"github-actions /"}
	ecosystems := map[string]string{"go.mod": "gomod", "Gemfile": "bundler"}
	for _, path := range files(t, ".mod", "") {
		if ecosystem := ecosystems[filepath.Base(path)]; ecosystem != "" {
			dir, err := filepath.Rel(root, filepath.Dir(path))
			lab.Must(t, err)
			want = append(want, ecosystem+" "+filepath.Join("/", dir))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dependabot.yml (-want +got)\n%s", diff)
	}
}

// TestActionsArePinned: the owner of an action can move its tags, not its commits. All workflows use one version.
func TestActionsArePinned(t *testing.T) {
	workflows, err := filepath.Glob(lab.File(t, ".github/workflows/*.yml"))
	lab.Must(t, err)
	versions := map[string]string{}
	for _, path := range workflows {
		for _, m := range regexp.MustCompile(`(?m)\buses: ([^@\n]*)(.*)$`).FindAllStringSubmatch(lab.Read(t, path), -1) {
			action, version := m[1], m[2]
			if !regexp.MustCompile(`^@[0-9a-f]{40} # v\d+\.\d+\.\d+$`).MatchString(version) {
				t.Errorf("%s uses %s%s", path, action, version)
			}
			if other, used := versions[action]; used && other != version {
				t.Errorf("%s uses %s%s, another job uses %s", path, action, version, other)
			}
			versions[action] = version
		}
	}
	if len(versions) == 0 {
		t.Error("no workflow uses an action")
	}
}
