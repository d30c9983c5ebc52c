package main

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is what a test must know of a workflow of GitHub.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Env         map[string]string
		Steps       []struct {
			Run string
			Env map[string]string
		}
	}
}

// TestReleaseKeepsItsSecretsFromBuildsAndTests: programs of others run in both. A step that runs make gets no secret,
// and a job that runs the tests may only read.
func TestReleaseKeepsItsSecretsFromBuildsAndTests(t *testing.T) {
	data, err := os.ReadFile("../../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	var release workflow
	if err := yaml.Unmarshal(data, &release); err != nil {
		t.Fatal(err)
	}
	tests, builds := 0, 0
	for name, job := range release.Jobs {
		for _, step := range job.Steps {
			if !strings.Contains(step.Run, "make ") {
				continue
			}
			builds++
			for _, env := range []map[string]string{job.Env, step.Env} {
				for variable, value := range env {
					if strings.Contains(value, "secrets.") || strings.Contains(value, "github.token") {
						t.Errorf("job %s: %q gets the secret %s", name, step.Run, variable)
					}
				}
			}
			if !strings.Contains(step.Run, "make test") {
				continue
			}
			tests++
			if len(job.Permissions) != 1 || job.Permissions["contents"] != "read" {
				t.Errorf("job %s runs the tests with %v", name, job.Permissions)
			}
		}
	}
	if tests != 1 || builds != 2 || len(release.Permissions) > 0 {
		t.Errorf("%d steps that test, %d with make, and %v for all jobs; want 1, 2 and none",
			tests, builds, release.Permissions)
	}
}
