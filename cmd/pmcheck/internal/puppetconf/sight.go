package puppetconf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/pmcheck/pmcheck/check/bounded"
)

// A sight is what was seen of the files from which Puppet's configuration was read, but for their content, and of the
// name of this host.
type sight struct {
	root  string // the directory in which all paths are looked up
	host  string
	files map[string]string // what the kernel said of each, by path
}

func newSight(root string) *sight {
	host, _ := os.Hostname()
	return &sight{root: root, host: host, files: map[string]string{}}
}

// note notes a file or directory before it is read.
func (s *sight) note(path string) {
	if _, again := s.files[path]; !again {
		s.files[path] = s.stamp(path)
	}
}

// stamp returns a text that changes with the content, the owner and the mode of a file.
func (s *sight) stamp(path string) string {
	info, err := os.Stat(s.inRoot(path))
	if err != nil {
		return err.Error()
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprint(stat.Dev, stat.Ino, stat.Mode, stat.Uid, stat.Gid, stat.Size, stat.Mtim, stat.Ctim)
}

// changed reports whether the host has another name, or one of the files has changed.
func (s *sight) changed() bool {
	if newSight(s.root).host != s.host {
		return true
	}
	for path, stamp := range s.files {
		if s.stamp(path) != stamp {
			return true
		}
	}
	return false
}

// maxFile bounds puppet.conf, in bytes: the daemon must not die of a log in its place.
const maxFile = 1 << 20

// read notes a file and returns its content.
func (s *sight) read(path string) ([]byte, error) {
	s.note(path)
	return bounded.File(s.inRoot(path), maxFile)
}

// exists reports whether a path exists, and notes it. If that cannot be found out, the path counts as
// existing, so that reading it reports the reason.
func (s *sight) exists(path string) bool {
	s.note(path)
	_, err := os.Stat(s.inRoot(path))
	return !errors.Is(err, fs.ErrNotExist)
}

func (s *sight) inRoot(path string) string { return filepath.Join(s.root, path) }
