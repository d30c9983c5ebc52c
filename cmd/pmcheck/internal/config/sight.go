package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
)

// A sight is what was seen of the files from which Puppet's configuration was read, but for their content, and of the
// name of this host.
type sight struct {
	host  string
	files map[string]string // what the kernel said of each, by path
}

func newSight() *sight {
	host, _ := os.Hostname()
	return &sight{host: host, files: map[string]string{}}
}

// note notes a file or directory before it is read.
func (o Options) note(path string) {
	if o.seen == nil {
		return
	}
	if _, again := o.seen.files[path]; !again {
		o.seen.files[path] = o.stamp(path)
	}
}

// stamp returns a text that changes with the content, the owner and the mode of a file.
func (o Options) stamp(path string) string {
	info, err := os.Stat(filepath.Join(o.Root, path))
	if err != nil {
		return err.Error()
	}
	s := info.Sys().(*syscall.Stat_t)
	return fmt.Sprint(s.Dev, s.Ino, s.Mode, s.Uid, s.Gid, s.Size, s.Mtim, s.Ctim)
}

// changed reports whether the host has another name, or one of the files has changed, since l was loaded.
func (l *Loaded) changed() bool {
	if l.from.seen == nil {
		return false
	}
	if newSight().host != l.from.seen.host {
		return true
	}
	for path, stamp := range l.from.seen.files {
		if l.from.stamp(path) != stamp {
			return true
		}
	}
	return false
}

// Again reads Puppet's configuration again, and nothing else. known is what Puppet's configuration said last. Again
// returns l if there is nothing new: a file is read when it has changed, and not by the clock. Again may hang with the
// file system.
func (l *Loaded) Again(known Identity) (*Loaded, error) {
	isNews := !reflect.DeepEqual(known, l.from.Known)
	if !isNews && !l.changed() {
		return l, nil
	}

	o := l.from
	o.Known = known
	o.Content = append([]byte{}, l.Content...) // an edited pmcheck.yaml waits for its reload
	again, err := Load(o)
	again.File = l.File
	again.Content = l.Content
	return again, err
}

// Equal reports whether two configurations say the same.
func (l *Loaded) Equal(other *Loaded) bool {
	if !slices.Equal(l.Settings(), other.Settings()) {
		return false
	}

	mine := &l.Config
	others := &other.Config
	sameProbe := reflect.DeepEqual(mine.Probe, others.Probe)
	sameNames := slices.Equal(mine.Checks.Expiry().Names, others.Checks.Expiry().Names)
	sameDoubt := mine.Checks.Identity() == others.Checks.Identity()
	return sameProbe && sameNames && sameDoubt
}
