package check

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

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
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	return volume{
		device: uint64(file.Dev),
		size:   space.Blocks * uint64(space.Frsize), free: space.Bavail * uint64(space.Frsize),
		inodes: space.Files, freeInodes: space.Ffree,
		readOnly: err == nil && readOnly(string(mounts), uint64(file.Dev)),
	}, nil
}

// readOnly reports whether a file system is read-only wherever it is mounted. It looks
// at the last field of its line in /proc/self/mountinfo, the options of the file system
// itself. The flags of statfs cannot tell: a service that systemd protects sees every
// file system as read-only. After an error a file system may have emergency_ro instead.
func readOnly(mountinfo string, device uint64) bool {
	number := deviceNumber(device)
	for line := range strings.Lines(mountinfo) {
		mount, system, _ := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		if len(fields) < 3 || fields[2] != number {
			continue
		}
		system = strings.TrimSpace(system)
		list := strings.Split(system[strings.LastIndex(system, " ")+1:], ",")
		return slices.Contains(list, "ro") || slices.Contains(list, "emergency_ro")
	}
	return false
}

// deviceNumber formats a device number the way mountinfo does.
func deviceNumber(device uint64) string {
	return fmt.Sprintf("%d:%d", unix.Major(device), unix.Minor(device))
}
