package e2e_test

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestAReadOnlyBtrfsTakesTheMasterOut: on btrfs, stat has another device number than the list of mounts, in each
// subvolume a different one.
func TestAReadOnlyBtrfsTakesTheMasterOut(t *testing.T) {
	lab.Real(t)
	lab.Build(t)
	dir := t.TempDir()
	image, mounted := filepath.Join(dir, "image"), filepath.Join(dir, "btrfs")
	run := func(script string) {
		t.Helper()
		lab.Output(t, exec.Command("sh", "-ec", script))
	}
	run("mkdir " + mounted + " && truncate -s 128M " + image)
	lab.Output(t, exec.Command(lab.Need(t, "mkfs.btrfs", "btrfs-progs"), image))
	run("mount -o loop " + image + " " + mounted)
	t.Cleanup(func() { run("umount " + mounted) })
	run("btrfs subvolume create " + mounted + "/vardir")

	for _, vardir := range []string{mounted, filepath.Join(mounted, "vardir")} {
		r := lab.StartSite(t, lab.SiteOptions{YAML: "disk: {paths: [" + vardir + "]}\n"})
		run("mount -o remount,ro " + mounted)
		r.WaitRefusal("unhealthy: disk-full", 20*time.Second)
		run("mount -o remount,rw " + mounted)
		r.WaitServing(20 * time.Second)
	}
}
