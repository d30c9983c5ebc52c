package lab

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// chrootScript mounts an overlay on top of a root. /tmp is that of this machine, so that
// files of tests have the same path inside.
const chrootScript = `set -e
lower=$1 dir=$2
mount -t tmpfs -o mode=755 tmpfs "$dir"
mkdir "$dir/root" "$dir/upper" "$dir/work"
mount -t overlay -o "lowerdir=$lower,upperdir=$dir/upper,workdir=$dir/work" overlay "$dir/root"
rm -f "$dir/root/usr/sbin/policy-rc.d"
mount -t proc proc "$dir/root/proc"
mount -t tmpfs -o mode=755 tmpfs "$dir/root/run"
mount --rbind /dev "$dir/root/dev"
mount --rbind /sys "$dir/root/sys"
mount --bind /tmp "$dir/root/tmp"
echo ready
exec sleep infinity
`

// A Chroot runs programs of a Release in the network of the test process, without a boot
// and so without its systemd. The files that they write outside of /tmp are gone afterwards.
type Chroot struct {
	Release

	tb     testing.TB
	dir    string
	keeper *process // keeps the mount namespace
}

// StartChroot makes a copy of the release's root. It is removed when the test ends.
func (r Release) StartChroot(tb testing.TB) *Chroot {
	tb.Helper()
	c := &Chroot{Release: r, tb: tb, dir: tempDir(tb)}
	c.keeper = startKeeper(tb, exec.Command("unshare", "--mount", "--propagation", "private", "--",
		"sh", "-c", chrootScript, "sh", r.Root(tb), c.dir))
	return c
}

// Command returns a command that runs a program of the release.
func (c *Chroot) Command(program string, args ...string) *exec.Cmd {
	flags := []string{"--mount", "--target", strconv.Itoa(c.keeper.cmd.Process.Pid), "--",
		"chroot", filepath.Join(c.dir, "root"), program}
	cmd := exec.Command("nsenter", append(flags, args...)...)
	cmd.Env = []string{"PATH=" + hostPath, "HOME=/root", "LANG=C.UTF-8"}
	return cmd
}

// StartHAProxy starts the HAProxy of the release; see the function of the same name. Its
// haproxy -c must print no warning. Reload does not work on it.
func (c *Chroot) StartHAProxy(config string) *HAProxy {
	c.tb.Helper()
	h := &HAProxy{tb: c.tb, dir: tempDir(c.tb)}
	h.start(c.Command, h.writeConfig(config))
	return h
}

// StartOldHAProxy is StartHAProxy with an old configuration, of which HAProxy may warn.
func (c *Chroot) StartOldHAProxy(config string) *HAProxy {
	c.tb.Helper()
	h := &HAProxy{tb: c.tb, dir: tempDir(c.tb), warns: true}
	h.start(c.Command, h.writeConfig(config))
	return h
}
