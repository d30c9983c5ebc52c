package drain

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Read returns the holds that are in the directories now. It cannot fail: what cannot
// be read is a hold with the code [Unreadable]. It never waits for a writer.
func (s *Store) Read() Snapshot { return s.readWith(func(string, os.FileInfo) error { return nil }) }

// readWith is Read with a check of each directory: an error of recognize is a reason not to
// trust the directory.
//
// It takes no lock, which another process could keep. A writer moves a hold by writing it into one
// directory and then removing it from the other, so one scan of each could miss both files. The third
// scan finds a hold that has moved to the first directory meanwhile.
func (s *Store) readWith(recognize func(dir string, info os.FileInfo) error) Snapshot {
	taken := s.clock()
	found := make(map[string]Hold) // by path

	for _, dir := range []string{s.UntilReboot, s.Persistent, s.UntilReboot} {
		info, holds, err := s.scan(dir)
		if err == nil {
			err = recognize(dir, info)
		}
		if err != nil {
			found[dir] = s.directoryHold(dir, err)
		}
		for _, h := range holds {
			found[h.Path] = h
		}
	}
	return newSnapshot(taken, slices.Collect(maps.Values(found)))
}

// directoryHold returns the hold that stands for a directory with this error.
func (s *Store) directoryHold(dir string, err error) Hold {
	return Hold{
		Holder:      Directory,
		Mode:        Maint,
		UntilReboot: dir == s.UntilReboot,
		Path:        dir,
		Code:        Unreadable,
		Error:       fmt.Sprintf("%v; %s", err, mend(dir, err)),
	}
}

// mend says what to do about a directory with this error.
func mend(dir string, err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return `"pmcheck ready" creates it, then "systemctl reload pmcheck" accepts it`
	}
	if errors.Is(err, errWritable) {
		return "chmod go-w " + dir
	}
	if errors.Is(err, errReplaced) {
		return `"systemctl reload pmcheck" accepts it as it is`
	}
	return "make sure that it is a directory which the pmcheck daemon can read"
}

// scan reads the holds in a directory. It can return both holds and an error.
func (s *Store) scan(dir string) (info os.FileInfo, holds []Hold, err error) {
	if s.scanned != nil {
		defer s.scanned(dir)
	}

	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()

	info, err = f.Stat()
	if err != nil {
		return nil, nil, err
	}
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, nil, err
	}

	owner := ownerOf(info)
	for _, name := range names {
		if !isHold(name) {
			continue
		}
		if h, there := readHold(filepath.Join(dir, name), owner); there {
			h.UntilReboot = dir == s.UntilReboot
			holds = append(holds, h)
		}
	}

	if info.Mode()&0o022 != 0 {
		err = fmt.Errorf("%s: %w", dir, errWritable)
	}
	return info, holds, err
}

// isHold reports whether a file of this name is a hold. The lock, and files that are being written, begin with a dot.
func isHold(name string) bool {
	return strings.HasSuffix(name, suffix) && !strings.HasPrefix(name, ".")
}

// readHold reads one entry of a directory of that owner. It returns false if the entry is gone.
func readHold(path string, dirOwner uint32) (h Hold, there bool) {
	data, info, err := readRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Hold{}, false
	}

	holder, service, nameErr := splitName(filepath.Base(path))
	err = errors.Join(nameErr, err)
	if err == nil {
		err = trusted(info, dirOwner)
	}
	if err == nil {
		h, err = parse(data)
	}
	if err != nil {
		h = Hold{Mode: Maint, Code: Unreadable, Error: oneLine(err.Error())}
	}

	h.Holder = holder
	h.Service = service
	h.Path = path
	if info != nil && h.Since.IsZero() {
		h.Since = info.ModTime().UTC().Truncate(time.Second)
	}
	return h, true
}

// trusted returns an error if a user other than root and the owner of the directory can
// have written the file.
func trusted(file os.FileInfo, dirOwner uint32) error {
	if owner := ownerOf(file); owner != 0 && owner != dirOwner {
		return fmt.Errorf("owner uid %d is neither root nor the owner of the directory", owner)
	}
	if file.Mode()&0o022 != 0 {
		return errWritable
	}
	return nil
}

func ownerOf(info os.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }

// readRegular reads a regular file of up to maxHoldFile bytes. It neither follows a symbolic link nor
// waits for the other end of a FIFO. The file's attributes are nil if it could not be opened.
func readRegular(path string) ([]byte, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, nil, errors.New("is a symbolic link")
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxHoldFile+1))
	return data, info, err
}
