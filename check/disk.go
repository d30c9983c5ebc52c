package check

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sync/singleflight"
	"golang.org/x/sys/unix"
)

// The name of the check, and its reasons.
const (
	CheckDisk = "disk"

	DiskLow  Reason = "disk-low"
	DiskFull Reason = "disk-full"
)

// DiskSettings say what to look at, and how free space is judged.
type DiskSettings struct {
	// Paths are directories that Puppet Server must write to before it answers an agent.
	// One without space, or on a file system that is read-only, makes the master unhealthy.
	Paths []string `yaml:"paths" path:"absolute"`
	// WarnPercent is the share of free space, and of free inodes, below which the
	// check warns; 0 means never.
	WarnPercent int `yaml:"warn_percent" min:"0" max:"99"`
	// EjectMiB is the free space below which a disk counts as full, or 5% of the file
	// system if that is less, so that a small one is not full from the start; 0 means
	// never. Without free inodes it counts as full whatever this setting is.
	EjectMiB int `yaml:"eject_mib" min:"0" max:"1048576"`
}

// diskEvery is the time between two looks. A disk that fills up keeps some of its space for longer.
const diskEvery = 15 * time.Second

func disk() Check {
	return Check{
		Name:     CheckDisk,
		Severity: Eject,
		Reasons: slices.Concat(
			causes(OfMaster, "", "more is free",
				row{
					reason: DiskLow,
					begins: "less than disk.warn_percent is free",
					hint:   "make room before agents fail: old reports, logs, heap dumps (*.hprof) and environments",
				},
			),
			causes(OfMaster, Unhealthy, "there is room again, and the file system can be written to",
				row{
					reason: DiskFull,
					begins: "a directory that Puppet Server writes to is full, or its file system read-only",
					hint:   "make room: df -h and df -i of the directory; if the file system is read-only, see dmesg",
				},
			),
		),
		Needs: Needs{
			Calls: []string{"statfs", "statx"},
			Paths: []string{"/proc/self/mountinfo"},
		},
		Settings: DiskSettings{Paths: []string{}, WarnPercent: 10, EjectMiB: 64},
		Run:      Run(DiskSettings.run),
		Interval: diskEvery,
		Timeout:  diskEvery / 10,
	}
}

// Disk returns the settings of the check disk.
func (l List) Disk() DiskSettings { return settingsOf[DiskSettings](l) }

// run returns what looks at the file systems.
func (s DiskSettings) run(Host) Runner { return (&diskCheck{DiskSettings: s}).check }

type diskCheck struct {
	DiskSettings
	calls singleflight.Group
}

// check looks once. A path that cannot be read before ctx ends is unknown, and so is
// the result if there are no paths; neither changes the verdict. Of several paths on
// one file system the first decides.
func (d *diskCheck) check(ctx context.Context) Finding {
	found := newFinding(CheckDisk)
	if len(d.Paths) == 0 {
		return found.unknown("there is nothing to look at: neither disk.paths nor Puppet names a directory")
	}

	volumes, unread := d.statAll(ctx)
	var values []string
	for _, v := range volumes {
		values = append(values, v.path+" "+v.String())
		f := d.judge(v)
		worse := found.State == StateWarn && f.State == StateBad
		if found.State == StateOK || worse {
			found.State = f.State
			found.Health = f.Health
			found.Reason = f.Reason
			found.Detail = f.Detail
		}
	}

	// A path that cannot be read does not hide that another file system is full, nor does that hide the path.
	if len(unread) > 0 && found.State == StateOK {
		return found.unknown(strings.Join(unread, "; "))
	}
	if len(unread) > 0 {
		found.Detail += "; not known of " + strings.Join(unread, "; ")
	}
	found.Value = strings.Join(values, ", ")
	return found
}

// statAll returns the file systems of all paths, each once, and why others cannot be read. It asks for all paths at
// once, so that a path that hangs does not delay the others.
func (d *diskCheck) statAll(ctx context.Context) (volumes []volume, unread []string) {
	found := make([]volume, len(d.Paths))
	errs := make([]error, len(d.Paths))
	var all sync.WaitGroup
	for i, path := range d.Paths {
		all.Go(func() { found[i], errs[i] = aside(ctx, &d.calls, path, statVolume) })
	}
	all.Wait()

	seen := map[string]bool{}
	for i, v := range found {
		if errs[i] != nil {
			unread = append(unread, errs[i].Error())
			continue
		}
		if !seen[v.device] {
			seen[v.device] = true
			volumes = append(volumes, v)
		}
	}
	return volumes, unread
}

// aside returns what read says of a path. It may hang for ever, as on a dead network file system,
// so it runs in a goroutine of its own; while that hangs, later calls for the same path wait for it.
func aside[T any](ctx context.Context, calls *singleflight.Group, path string, read func(string) (T, error)) (
	T, error,
) {
	select {
	case r := <-calls.DoChan(path, func() (any, error) { return read(path) }):
		return r.Val.(T), r.Err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("%s: the file system does not answer: %w", path, context.Cause(ctx))
	}
}

func (d *diskCheck) judge(v volume) Finding {
	if v.readOnly {
		return finding(StateBad, Unhealthy, DiskFull, "%s: the file system is read-only", v.path)
	}
	if why := v.full(d.EjectMiB); why != "" {
		return finding(StateBad, Unhealthy, DiskFull, "%s: %s: Puppet Server fails to write, or soon will", v.path, why)
	}

	lowSpace := percent(v.free, v.size) < d.WarnPercent
	lowInodes := v.inodes > 0 && percent(v.freeInodes, v.inodes) < d.WarnPercent
	if lowSpace || lowInodes {
		return finding(StateWarn, "", DiskLow, "%s: %s", v.path, v)
	}
	return Finding{State: StateOK, Reason: OK}
}

// volume is the state of a file system for users other than root.
type volume struct {
	path       string // by which it was looked at
	device     string // of the file system, as in the list of mounts; the path if that is not known
	size       uint64 // bytes
	free       uint64
	inodes     uint64 // zero where the file system has no such limit
	freeInodes uint64
	readOnly   bool // the file system itself, not just the view of this process
}

const (
	// A file system is full with fewer free inodes than this: the facts and the
	// report of each agent are files of their own.
	fullInodes = 100
	// A file system is never full while more than this share of it is free.
	fullPercent = 5
)

// full returns what has run out, in words, or "".
func (v volume) full(mebibytes int) string {
	least := min(uint64(mebibytes)<<20, v.size/100*fullPercent)
	if v.size > 0 && v.free < least {
		return fmt.Sprintf("%d MiB are free", v.free>>20)
	}

	leastInodes := min(fullInodes, v.inodes/100*fullPercent)
	if v.freeInodes < leastInodes {
		return fmt.Sprintf("%d inodes are free", v.freeInodes)
	}
	return ""
}

// String returns how much is free, in words.
func (v volume) String() string {
	s := fmt.Sprintf("%d%% (%d MiB) free", percent(v.free, v.size), v.free>>20)
	if v.inodes > 0 {
		s += fmt.Sprintf(", %d%% of the inodes", percent(v.freeInodes, v.inodes))
	}
	return s
}

// percent returns part of whole in percent, rounded down; 100 if whole is 0.
func percent(part, whole uint64) int {
	if whole == 0 {
		return 100
	}
	return int(float64(part) * 100 / float64(whole)) // of an object store both may be near 1<<64
}

// statVolume returns the state of the file system that a path is on. It can hang.
func statVolume(path string) (volume, error) {
	var space unix.Statfs_t
	if err := unix.Statfs(path, &space); err != nil {
		return volume{}, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}

	v := volume{
		path:       path,
		device:     path,
		size:       space.Blocks * uint64(space.Frsize),
		free:       space.Bavail * uint64(space.Frsize),
		inodes:     space.Files,
		freeInodes: space.Ffree,
	}

	var file unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_MNT_ID, &file); err != nil {
		return v, nil // some sandboxes do not know the call
	}
	v.device = device(file)
	mounts, _ := procfs.GetMounts() // without them, the mount is not known
	if mount := mountOf(file, mounts); mount != nil {
		v.device = mount.MajorMinorVer
		v.readOnly = readOnly(mount)
	}
	return v, nil
}

// device returns the number of the device that a file is on, as the list of mounts writes it.
func device(file unix.Statx_t) string { return fmt.Sprintf("%d:%d", file.Dev_major, file.Dev_minor) }

// mountOf returns the mount that a file is on; nil if it is not in the list, as in a chroot below it. On btrfs each
// subvolume has a device number of its own, which is not the one in the list of mounts: the number of the mount is
// there. Before Linux 5.8 there is only the device.
func mountOf(file unix.Statx_t, mounts []*procfs.MountInfo) *procfs.MountInfo {
	hasNumber := file.Mask&unix.STATX_MNT_ID != 0
	number := device(file)
	at := slices.IndexFunc(mounts, func(m *procfs.MountInfo) bool {
		if hasNumber {
			return m.MountID == int(file.Mnt_id)
		}
		return m.MajorMinorVer == number
	})
	if at < 0 {
		return nil
	}
	return mounts[at]
}

// readOnly reports whether a file system is read-only wherever it is mounted, by the options of the
// file system itself. The flags of statfs cannot tell: a service that systemd protects sees every
// file system as read-only. After an error a file system may have emergency_ro instead.
func readOnly(m *procfs.MountInfo) bool {
	_, ro := m.SuperOptions["ro"]
	_, emergency := m.SuperOptions["emergency_ro"]
	return ro || emergency
}
