package check

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// statVolume returns the state of the file system that a path is on. It can hang.
func statVolume(path string) (volume, error) {
	var space unix.Statfs_t
	var file unix.Stat_t
	if err := unix.Statfs(path, &space); err != nil {
		return volume{}, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	if err := unix.Stat(path, &file); err != nil {
		return volume{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	mounts, _ := procfs.GetMounts()
	return volume{
		path:   path,
		device: uint64(file.Dev),
		size:   space.Blocks * uint64(space.Frsize), free: space.Bavail * uint64(space.Frsize),
		inodes: space.Files, freeInodes: space.Ffree,
		readOnly: readOnly(mounts, uint64(file.Dev)),
	}, nil
}

// readOnly reports whether a file system is read-only wherever it is mounted, by the options of the
// file system itself. The flags of statfs cannot tell: a service that systemd protects sees every
// file system as read-only. After an error a file system may have emergency_ro instead.
func readOnly(mounts []*procfs.MountInfo, device uint64) bool {
	number := fmt.Sprintf("%d:%d", unix.Major(device), unix.Minor(device))
	return slices.ContainsFunc(mounts, func(m *procfs.MountInfo) bool {
		_, ro := m.SuperOptions["ro"]
		_, emergency := m.SuperOptions["emergency_ro"]
		return m.MajorMinorVer == number && (ro || emergency)
	})
}
