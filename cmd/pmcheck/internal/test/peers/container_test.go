package peers_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// deployment is the part of the Deployment in examples/kubernetes/puppetserver.yaml that the test reads.
type deployment struct {
	Spec struct {
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Init  []container `yaml:"initContainers"` // what makes the directories, and pmcheck
				Main  []container `yaml:"containers"`
				Links *bool       `yaml:"enableServiceLinks"`
			}
		}
	}
}

type container struct {
	Command   []string
	Args      []string
	Readiness struct {
		Get struct {
			Path string
			Port int
		} `yaml:"httpGet"`
	} `yaml:"readinessProbe"`
	Security struct {
		User  int `yaml:"runAsUser"`
		Group int `yaml:"runAsGroup"`
	} `yaml:"securityContext"`
	Mounts []struct {
		Name string
		Path string `yaml:"mountPath"`
		Sub  string `yaml:"subPath"`
	} `yaml:"volumeMounts"`
	Lifecycle struct {
		PreStop struct{ Exec struct{ Command []string } } `yaml:"preStop"`
	}
}

// TestKubernetesAcceptsTheManifest: by the types of its API, and by its schemas.
func TestKubernetesAcceptsTheManifest(t *testing.T) {
	lab.Real(t)
	err := lab.RunOutside(exec.Command("go", "-C", lab.File(t, ".tools/manifest"), "test", "-args",
		example(t, "kubernetes/puppetserver.yaml")))
	if err != nil {
		t.Error(err)
	}
}

// TestSidecarOfADeployment runs what the image has, with the arguments, users and volumes of the example, as a
// kubelet would, beside a simulated master.
func TestSidecarOfADeployment(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	documents := strings.Split(lab.Read(t, example(t, "kubernetes/puppetserver.yaml")), "\n---\n")
	var settings struct{ Data map[string]string }
	var service struct {
		Spec struct{ Selector map[string]string }
	}
	var found deployment
	for i, into := range []any{&settings, &service, &found} {
		lab.Must(t, yaml.Unmarshal([]byte(documents[i]), into))
	}
	spec := found.Spec.Template.Spec
	if spec.Links == nil || *spec.Links {
		t.Error("the variables of a Service named pmcheck would keep pmcheck from starting")
	}
	if len(service.Spec.Selector) == 0 {
		t.Error("the Service selects nothing")
	}
	for label, value := range service.Spec.Selector {
		if got := found.Spec.Template.Metadata.Labels[label]; got != value {
			t.Errorf("the Service selects %s=%s, the Pod has %q", label, value, got)
		}
	}
	directories, sidecar := spec.Init[0], spec.Init[1]
	root, volume := t.TempDir(), t.TempDir()
	lab.Output(t, exec.Command("install", "-D", lab.Build(t), root+"/usr/bin/pmcheck"))
	user := fmt.Sprintf("%d:%d", sidecar.Security.User, sidecar.Security.Group)
	// An emptyDir with fsGroup.
	lab.Must(t, errors.Join(os.Chown(volume, 0, sidecar.Security.Group), os.Chmod(volume, 0o777|os.ModeSetgid)))
	mkdir := exec.Command("chroot", append([]string{"--userspec=" + user, "--skip-chdir", "/"}, directories.Command...)...)
	mkdir.Dir = volume
	lab.Output(t, mkdir)
	enter := fmt.Sprintf("set -e; mount --make-rprivate /; mkdir -p %[1]s/proc; mount --bind /proc %[1]s/proc; ", root)
	for _, m := range sidecar.Mounts {
		if m.Sub != "" {
			enter += fmt.Sprintf("mkdir -p %[2]s; mount --bind %[1]s %[2]s; ", filepath.Join(volume, m.Sub), root+m.Path)
		}
	}
	enter += fmt.Sprintf(`exec chroot --userspec=%s %s /usr/bin/pmcheck "$@"`, user, root)
	lab.Write(t, root+"/etc/pmcheck/pmcheck.yaml", settings.Data["pmcheck.yaml"])
	lab.Write(t, root+"/etc/hosts", "127.0.0.1 localhost\n") // a kubelet mounts one, too

	n := lab.StartNetwork(t)
	puppet := root + "/etc/puppetlabs/puppet"
	err := n.Inside(func() error {
		master, err := checktest.NewMaster(puppet, "puppet", "127.0.0.1:8140")
		if err == nil {
			t.Cleanup(func() { _ = master.Close() })
		}
		return err
	})
	lab.Must(t, err)
	lab.Write(t, puppet+"/puppet.conf", "[main]\ncertname = puppet\nssldir = /etc/puppetlabs/puppet/ssl\n")
	lab.Output(t, exec.Command("chown", "-R", user, puppet))

	// inside is a command in the container.
	inside := func(args ...string) *exec.Cmd {
		return n.Command("unshare", append([]string{"--mount", "sh", "-c", enter, "pmcheck"}, args...)...)
	}
	lab.StartProgram(t, inside(sidecar.Args...))

	probe := sidecar.Readiness.Get
	url := fmt.Sprintf("http://127.0.0.1:%d%s", probe.Port, probe.Path)
	ready := func(want int) {
		t.Helper()
		waitFor(t, func() error {
			if code, body, err := n.Get(url); err != nil || code != want {
				return fmt.Errorf("%s: %d %s (%v), want %d", url, code, body, err, want)
			}
			return nil
		})
	}
	ready(200)
	preStop := spec.Main[0].Lifecycle.PreStop.Exec.Command
	if !slices.Equal(preStop[:2], []string{"pmcheck", "drain"}) {
		t.Fatalf("preStop runs %v", preStop)
	}
	if out := lab.Output(t, inside(preStop[1:]...)); !strings.Contains(out, "idle") {
		t.Errorf("preStop: %s", out)
	}
	ready(503)
}
