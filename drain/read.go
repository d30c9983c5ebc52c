package drain

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pmcheck/pmcheck/check/bounded"
	"github.com/pmcheck/pmcheck/check/text"
)

// Read returns the holds that are in the directories now. It cannot fail: what cannot
// be read is a hold with the code [Unreadable]. It never waits for a writer.
func (s *Store) Read() Snapshot {
	places := s.places()
	defer closeAll(places)
	return s.readPlaces(places, false)
}

// A place is one of the directories, and what was read in it last. It is not safe for concurrent use.
type place struct {
	dir         string
	untilReboot bool      // a reboot empties it
	known       reading   // the last one of the directory that is accepted
	read        time.Time // when that was; zero if never
}

// places returns the directories. Nothing is known of them yet.
func (s *Store) places() []*place {
	return []*place{{dir: s.UntilReboot, untilReboot: true}, {dir: s.Persistent}}
}

// readPlaces reads the directories, each by itself. If accept is set, it accepts directories that have replaced others.
//
// It takes no lock, which another process could keep. A writer moves a hold by writing it into one
// directory and then removing it from the other, so one scan of each could miss both files. The third
// scan finds a hold that has moved to the first directory meanwhile.
func (s *Store) readPlaces(places []*place, accept bool) Snapshot {
	taken := s.clock()
	type key struct {
		path    string
		service Service // a directory may stand for holds on several
	}
	found := make(map[key]Hold)
	hangs := make(map[string]Hang)

	for _, p := range append(places, places[0]) {
		r, err := s.scan(p.dir)
		err = p.take(r, err, accept, taken)
		holds := r.holds
		if errors.Is(err, ErrHangs) {
			holds = p.known.holds
			hangs[p.dir] = Hang{Path: p.dir, Since: p.read}
		}
		if p.isDoubtful(err) {
			holds = append(p.doubts(err, taken), holds...)
		}
		for _, h := range holds {
			found[key{path: h.Path, service: h.Service}] = h
		}
	}
	return newSnapshot(taken, slices.Collect(maps.Values(found)), slices.Collect(maps.Values(hangs)))
}

// take remembers a reading. If there is a reason not to trust the directory, take returns the reason instead.
func (p *place) take(r reading, err error, accept bool, now time.Time) error {
	isAnother := p.known.info != nil && r.info != nil && !os.SameFile(p.known.info, r.info)
	if err == nil && isAnother && !accept {
		err = errReplaced
	}
	if err != nil {
		r.close()
		return err
	}

	p.known.close()
	p.known = r
	p.read = now
	return nil
}

// isDoubtful reports whether the holds in the directory are not known after a reading with this error. The holds in a
// directory that only hangs count as known if they have been read before.
func (p *place) isDoubtful(err error) bool {
	if errors.Is(err, ErrHangs) {
		neverRead := p.read.IsZero()
		return neverRead
	}
	return err != nil
}

// doubts returns the holds that stand for the directory after a reading with this error: maint, as firm as the holds
// that were read last, and else by view. What cannot be read is no reason to take the last server from the agents.
func (p *place) doubts(err error, now time.Time) (list []Hold) {
	leaving := map[Service]Leaving{EveryService: LeavingByView}
	for _, h := range p.known.holds {
		least, known := leaving[h.Service]
		if h.InEffect(now) && (!known || h.Leaving.patience() < least.patience()) {
			leaving[h.Service] = h.Leaving
		}
	}

	for service, l := range leaving {
		list = append(list, Hold{
			Holder:      Directory,
			Service:     service,
			Mode:        Maint,
			Leaving:     l,
			UntilReboot: p.untilReboot,
			Path:        p.dir,
			Code:        Unreadable,
			Error:       fmt.Sprintf("%v; %s", err, mend(p.dir, err)),
		})
	}
	return list
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
	if errors.Is(err, ErrHangs) {
		return "mend the file system of " + dir
	}
	return "make sure that it is a directory which the pmcheck daemon can read"
}

// A reading is what one scan of a directory has found.
type reading struct {
	file  *os.File // the directory: while it is open, no other one can get its inode number
	info  os.FileInfo
	holds []Hold
}

func (r reading) close() { r.file.Close() } // nil is closed

func closeAll(places []*place) {
	for _, p := range places {
		p.known.close()
	}
}

// readDirectory reads the holds in a directory. It can return both holds and an error.
func readDirectory(dir string, untilReboot bool) (r reading, err error) {
	r.file, err = os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return r, err
	}
	r.info, err = r.file.Stat()
	if err != nil {
		return r, err
	}
	names, err := r.file.Readdirnames(-1)
	if err != nil {
		return r, err
	}

	owner := ownerOf(r.info)
	for _, name := range names {
		if !isHold(name) {
			continue
		}
		if h, there := readHold(filepath.Join(dir, name), owner); there {
			h.UntilReboot = untilReboot
			r.holds = append(r.holds, h)
		}
	}

	if r.info.Mode()&0o022 != 0 {
		err = fmt.Errorf("%s: %w", dir, errWritable)
	}
	return r, err
}

// isHold reports whether a file of this name is a hold. The lock, and files that are being written, begin with a dot.
func isHold(name string) bool {
	return strings.HasSuffix(name, suffix) && !strings.HasPrefix(name, ".")
}

// readHold reads one entry of a directory of that owner. It returns false if the entry is gone.
func readHold(path string, dirOwner uint32) (h Hold, there bool) {
	data, info, err := bounded.Itself(path, maxHoldFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Hold{}, false
	}
	if cause, is := errors.AsType[*fs.PathError](err); is {
		err = cause.Err // the hold has the path
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
		h = Hold{Mode: Maint, Code: Unreadable, Error: text.Printable(err.Error(), maxHoldFile)}
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
