package drain

import "golang.org/x/sys/unix"

// fileHandle returns a handle that distinguishes a file from a later one with the same
// inode number; empty if the file system has no handles.
func fileHandle(fd int) string {
	h, _, err := unix.NameToHandleAt(fd, "", unix.AT_EMPTY_PATH)
	if err != nil {
		return ""
	}
	return string(h.Bytes())
}
