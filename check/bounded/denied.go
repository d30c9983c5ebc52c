package bounded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Denied adds to the error of a file that this process may not read what keeps it out: the owner, group and mode of the
// file or of a directory above it, or its own unit, which hides one of them.
func Denied(err error, path string) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}

	info, hidden := os.Stat(path)
	for hidden != nil {
		path = filepath.Dir(path)
		info, hidden = os.Stat(path)
	}
	stat := info.Sys().(*syscall.Stat_t)

	above, unknown := os.Stat(filepath.Dir(path))
	if unknown == nil && isHidden(stat, above.Sys().(*syscall.Stat_t)) {
		return fmt.Errorf("%w (the unit hides %s: InaccessiblePaths= or ProtectHome=)", err, path)
	}

	owner := strconv.Itoa(int(stat.Uid))
	if u, err := user.LookupId(owner); err == nil {
		owner = u.Username
	}
	group := strconv.Itoa(int(stat.Gid))
	if g, err := user.LookupGroupId(group); err == nil {
		group = g.Name
	}
	return fmt.Errorf("%w (%s has owner %s, group %s, mode %04o)", err, path, owner, group, info.Mode().Perm())
}

// isHidden reports whether systemd hides a file or directory from a unit. systemd mounts an empty file or directory of
// root in its place, without permissions.
func isHidden(file, above *syscall.Stat_t) bool {
	isMounted := file.Dev != above.Dev
	return isMounted && file.Uid == 0 && file.Mode&0o777 == 0
}
