//go:build linux

package peers_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// manifest is the part of examples/kubernetes/puppetserver.yaml that the test reads.
type manifest struct {
	Kind string
	Data map[string]string
	Spec struct {
		Sidecars []container `yaml:"initContainers"`
		Main     []container `yaml:"containers"`
		Links    *bool       `yaml:"enableServiceLinks"`
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

// pod reads the containers in the order of their start: what makes the directories, the
// sidecar, and Puppet Server; and the configuration.
func pod(t *testing.T) (directories, sidecar, server container, configuration string) {
	t.Helper()
	documents := yaml.NewDecoder(strings.NewReader(lab.Read(t, example(t, "kubernetes/puppetserver.yaml"))))
	for {
		var m manifest
		err := documents.Decode(&m)
		switch {
		case errors.Is(err, io.EOF):
			return directories, sidecar, server, configuration
		case err != nil:
			t.Fatal(err)
		case m.Kind == "Pod":
			if m.Spec.Links == nil || *m.Spec.Links {
				t.Error("the variables of a Service named pmcheck would keep pmcheck from starting")
			}
			directories, sidecar, server = m.Spec.Sidecars[0], m.Spec.Sidecars[1], m.Spec.Main[0]
		case m.Kind == "ConfigMap":
			configuration = m.Data["pmcheck.yaml"]
		}
	}
}

// TestKubernetesKnowsEveryField: the manifest decodes strictly into Kubernetes's own types.
func TestKubernetesKnowsEveryField(t *testing.T) {
	lab.Real(t)
	err := lab.RunOutside(exec.Command("go", "-C", lab.File(t, ".tools/manifest"), "run", ".",
		example(t, "kubernetes/puppetserver.yaml")))
	if err != nil {
		t.Error(err)
	}
}

// image builds the image of packaging/container and returns the root of a container of it.
func image(t *testing.T) string {
	t.Helper()
	program := lab.Need(t, "buildah", "buildah")
	work := t.TempDir()
	buildah := func(args ...string) string {
		store := []string{"--storage-driver", "vfs", "--root", work + "/store", "--runroot", work + "/run"}
		cmd := exec.Command(program, append(store, args...)...)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, &said)
		}
		return strings.TrimSpace(string(out))
	}
	binary, err := os.ReadFile(lab.Build(t))
	if err = errors.Join(err, os.Mkdir(work+"/bin", 0o755), os.WriteFile(work+"/bin/pmcheck", binary, 0o755)); err != nil {
		t.Fatal(err)
	}
	buildah("build", "-f", lab.File(t, "packaging/container/Containerfile"), "-t", "pmcheck", work)
	return buildah("mount", buildah("from", "pmcheck"))
}

// TestSidecarOfAPod runs the image with the arguments, users and volumes of the example, as a
// kubelet would, beside a simulated master.
func TestSidecarOfAPod(t *testing.T) {
	t.Parallel()
	directories, sidecar, server, configuration := pod(t)
	root, volume := image(t), t.TempDir()
	user := fmt.Sprintf("%d:%d", sidecar.Security.User, sidecar.Security.Group)
	// An emptyDir with fsGroup.
	if err := errors.Join(os.Chown(volume, 0, sidecar.Security.Group), os.Chmod(volume, 0o777|os.ModeSetgid)); err != nil {
		t.Fatal(err)
	}
	mkdir := exec.Command("chroot", append([]string{"--userspec=" + user, "--skip-chdir", "/"}, directories.Command...)...)
	mkdir.Dir = volume
	must(t, mkdir)
	mounts := [][2]string{{"/proc", root + "/proc"}}
	for _, m := range sidecar.Mounts {
		if m.Sub != "" {
			mounts = append(mounts, [2]string{filepath.Join(volume, m.Sub), root + m.Path})
		}
		if err := os.MkdirAll(root+m.Path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lab.Write(t, root+"/etc/pmcheck/pmcheck.yaml", configuration)
	lab.Write(t, root+"/etc/hosts", "127.0.0.1 localhost\n") // a kubelet mounts one, too

	n := lab.StartNetwork(t)
	puppet := root + "/etc/puppetlabs/puppet"
	var master *checktest.Master
	err := n.Inside(func() (err error) {
		master, err = checktest.NewMaster(puppet, "puppet", "127.0.0.1:8140")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	lab.Write(t, puppet+"/puppet.conf", "[main]\ncertname = puppet\nssldir = /etc/puppetlabs/puppet/ssl\n")
	must(t, exec.Command("chown", "-R", user, puppet))

	if err := os.MkdirAll(root+"/proc", 0o755); err != nil {
		t.Fatal(err)
	}
	enter := "set -e; mount --make-rprivate /; "
	for _, m := range mounts {
		enter += fmt.Sprintf("mkdir -p %[2]s; mount --bind %[1]s %[2]s; ", m[0], m[1])
	}
	enter += fmt.Sprintf(`exec chroot --userspec=%s %s /usr/bin/pmcheck "$@"`, user, root)
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
	preStop := server.Lifecycle.PreStop.Exec.Command
	if !slices.Equal(preStop[:2], []string{"pmcheck", "drain"}) {
		t.Fatalf("preStop runs %v", preStop)
	}
	began := time.Now()
	if out := must(t, inside(preStop[1:]...)); !strings.Contains(out, "idle") {
		t.Errorf("preStop, after %v:\n%s", time.Since(began), out)
	}
	ready(503)
	if out := must(t, inside("ready", "--hold", "pod")); !strings.Contains(out, "lifted") {
		t.Error(out)
	}
	ready(200)
	if err := master.Set(checktest.Stopped); err != nil {
		t.Fatal(err)
	}
	ready(503)
}
