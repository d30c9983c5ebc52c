package puppetclient

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

// withOwner adds to the error of a file that this process may not read the owner, group and mode of the file, or
// of the directory above it that keeps this process out.
func withOwner(err error, path string) error {
	info, hidden := os.Stat(path)
	for hidden != nil && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		info, hidden = os.Stat(path)
	}
	if hidden != nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	stat := info.Sys().(*syscall.Stat_t)
	owner, group := strconv.Itoa(int(stat.Uid)), strconv.Itoa(int(stat.Gid))
	if u, err := user.LookupId(owner); err == nil {
		owner = u.Username
	}
	if g, err := user.LookupGroupId(group); err == nil {
		group = g.Name
	}
	return fmt.Errorf("%w (%s has owner %s, group %s, mode %04o)", err, path, owner, group, info.Mode().Perm())
}
