package lab

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// bootScript turns its process into PID 1 of a host: it connects the host to the bridge,
// mounts an overlay on top of a root, this machine's or a Release's, and executes systemd.
// Units enabled in the root are not enabled on the host; units that a test enables stay enabled.
const bootScript = `set -e
link=$1 name=$2 address=$3 mac=$4 network=$5 dir=$6 machine_id=$7 lower=$8
ip link add "$link" type veth peer name eth0
ip link set "$link" netns "$network"
nsenter --net="$network" ip link set "$link" master lab0 up
ip link set eth0 address "$mac" up
ip address add "$address/15" dev eth0

root=$dir/root
mkdir -p "$root" "$dir/upper" "$dir/work"
mount -t overlay -o "lowerdir=$lower,upperdir=$dir/upper,workdir=$dir/work" overlay "$root"
if [ ! -e "$dir/booted" ]; then
    rm -rf "$root"/etc/systemd/system/*.wants "$root"/etc/rc?.d/*
    rm -f "$root/usr/sbin/policy-rc.d" # container images have one that forbids starting services
    echo "$name" >"$root/etc/hostname"
    echo "$machine_id" >"$root/etc/machine-id"
    : >"$root/etc/fstab"
    ln -sfn /dev/null "$root/etc/systemd/system/systemd-modules-load.service" # fails without modules
    mkdir -p "$root/var/log/journal"
    touch "$dir/booted"
fi
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
hostname "$name"
exec chroot "$root" env -i container=lab PATH=` + hostPath + ` /lib/systemd/systemd --system
`

// boot starts PID 1 and waits until systemd has booted the host. The link gets a new name
// each time, since the kernel may not yet have removed the one of the last boot. The
// hardware address stays the same, since the other hosts have it in their ARP caches.
func (h *Host) boot() {
	tb := h.net.tb
	tb.Helper()
	cgroup, err := os.Open(h.cgroup())
	Must(tb, err)
	defer cgroup.Close()
	address := netip.MustParseAddr(h.Address).As4()
	cmd := exec.Command("nsenter", "--mount="+h.net.namespace("mnt"), "--",
		"unshare", "--mount", "--cgroup", "--propagation", "private", "--",
		"sh", "-c", bootScript, "sh", fmt.Sprintf("lab0-%d", h.net.links.Add(1)), h.Name, h.Address,
		fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", address[0], address[1], address[2], address[3]),
		h.net.namespace("net"), filepath.Join(h.net.dir, h.Name), h.machineID, h.root)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNET,
		UseCgroupFD: true,
		CgroupFD:    int(cgroup.Fd()),
	}
	log := filepath.Join(tempDir(tb), h.Name+".log")
	h.init.Store(start(tb, cmd, log))
	tb.Cleanup(h.showOnFailure) // at each boot, so that it runs before PID 1 is killed
	// A boot includes the start of an enabled Puppet Server. A shutdown, in halt, includes
	// its stop, which takes as long as a guard lets agents finish.
	WaitFor(tb, 10*time.Minute, 50*time.Millisecond, func() error {
		if err := h.init.Load().died(); err != nil {
			tb.Fatalf("%s did not boot: %v", h.Name, err)
		}
		state, err := h.Run("systemctl", "is-system-running")
		if state == "degraded" {
			failed, _ := h.Run("systemctl", "--failed")
			tb.Fatalf("%s booted, but units failed:\n%s", h.Name, failed)
		}
		return err
	})
}

func (h *Host) running() bool {
	init := h.init.Load()
	return init != nil && init.alive()
}

func (n *Network) nextAddress() string {
	address := netip.MustParseAddr(BridgeAddress)
	for range len(n.hosts) + 1 {
		address = address.Next()
	}
	return address.String()
}

// showOnFailure copies the end of the host's logs to the log of a failed test.
func (h *Host) showOnFailure() {
	h.net.tb.Helper()
	if !h.net.tb.Failed() || !h.running() {
		return
	}
	logs, err := h.Run("sh", "-c", "journalctl --no-pager -n 50; tail -n 30 /var/log/puppetserver/puppetserver.log")
	h.net.tb.Logf("the logs of %s end with (error: %v):\n%s", h.Name, err, logs)
}

// cgroup returns the path of the host's own control group. The host's systemd treats the
// group it starts in as the root of the hierarchy, so it must not start in the machine's.
func (h *Host) cgroup() string {
	name := fmt.Sprintf("pmcheck-lab.%d.%s.%s", os.Getpid(), filepath.Base(h.net.dir), h.Name)
	return h.net.inside(filepath.Join("cgroup", name))
}
