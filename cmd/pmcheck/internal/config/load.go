package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/bounded"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/mistake"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/puppetconf"
)

// DefaultFile is read when Options.File is empty; it may be absent.
const DefaultFile = "/etc/pmcheck/pmcheck.yaml"

// Options says where a configuration comes from.
type Options struct {
	// File is the path of pmcheck.yaml. Empty means DefaultFile, which may be
	// absent; a file named here must exist.
	File string
	// Environment is set if the PMCHECK_ variables of this process count, but for those in Unset.
	Environment bool
	Unset       []string
	// HoldsIn is a directory for the holds and the socket, instead of the fixed ones. PMCHECK_HOLDS wins over it.
	HoldsIn string
	// Root is the directory in which all paths are looked up; empty means /. No
	// path in a Config begins with it.
	Root string
	// Content, if it is not nil, is what File contains: the caller may read a file that this process cannot.
	Content []byte
	// Known is what Puppet's configuration said last, in case it says less now. The zero value is nothing.
	Known puppetconf.Identity
	// Checks are what Load configures: check.All, with further checks. Nil means check.All.
	Checks check.List
}

// Open returns o with the content of File, for a caller that becomes another user before Load. Load reports what cannot
// be read.
func (o Options) Open() Options {
	o.Content, _ = o.read(cmp.Or(o.File, DefaultFile))
	return o
}

// Setting is one value of a configuration and where it came from.
type Setting struct {
	// Key is the dotted key, such as probe.timeout.
	Key string
	// Value is the value as written in YAML.
	Value string
	// Origin is "default", "FILE:LINE", "environment NAME", the name of a Puppet layout,
	// or what the value was derived from.
	Origin string
}

// Loaded is a valid configuration that knows its origins.
type Loaded struct {
	Config Config
	// File is the absolute path of the pmcheck.yaml that was read; empty if there is
	// none.
	File string
	// Content is that file as it was read.
	Content []byte
	// Doubt says what is wrong with Puppet's configuration, one mistake a line; nil if nothing is. Settings that it should
	// have may be from elsewhere then, or empty: the daemon is often installed before Puppet.
	Doubt error
	// Ignored has a sentence for each PMCHECK_ variable that is no setting, as far as five go.
	Ignored []string

	places map[string]mistake.Place // of the settings that are not defaults
	from   Options
	said   *puppetconf.Said // nil if Puppet's configuration was not read
}

// Settings returns every setting in the order of Config.
func (l *Loaded) Settings() []Setting {
	var list []Setting
	for _, f := range fields(&l.Config) {
		list = append(list, Setting{
			Key:    f.key,
			Value:  format(f.value),
			Origin: cmp.Or(l.places[f.key].String(), "default"),
		})
	}
	return list
}

// loader makes a Loaded.
type loader struct {
	options  Options
	config   Config
	keys     map[string]bool // of all settings and sections: whether each is a section
	places   map[string]mistake.Place
	mistakes []mistake.Mistake
	said     *puppetconf.Said
	ignored  []string
}

// Load reads every source and returns the resulting configuration. The error has a line
// and wraps each mistake.Mistake, unless File cannot be read at all; it then wraps
// the cause, such as fs.ErrNotExist. A value that cannot be read is not set.
//
// Puppet's configuration is used only for settings that no other source has, so there is no Doubt on a host without
// Puppet if probe.certname, certificate, key, ca and crl are set.
func Load(o Options) (*Loaded, error) {
	name := cmp.Or(o.File, DefaultFile)
	data, err := o.fileContent(name)
	absent := o.File == "" && errors.Is(err, fs.ErrNotExist)
	if absent {
		err = nil
	}

	l := &loader{options: o, config: Default(), places: map[string]mistake.Place{}}
	if o.Checks != nil {
		l.config.Checks = o.Checks
	}
	l.decode(name, data)
	if err == nil {
		l.validate()
		l.askPuppet()
		l.config.Probe.MaxAge = l.config.Probe.outlives()
		_, isGiven := l.places["probe.address"]
		l.config.Probe.Assumed = !isGiven
	}

	loaded := &Loaded{
		Config:  l.config,
		Ignored: text.First(l.ignored, 5),
		places:  l.places,
		from:    o,
		said:    l.said,
	}
	if l.said != nil {
		loaded.Doubt = l.said.Doubt
	}
	if !absent {
		loaded.Content = data
		loaded.File, _ = filepath.Abs(name) // it fails in a directory that is gone, and only a reader needs it
	}
	if err != nil {
		return loaded, fmt.Errorf("read configuration: %w", err)
	}
	return loaded, mistake.Join(l.mistakes)
}

// Without returns o without the variables in which mistakes, the error of a Load, are.
func (o Options) Without(mistakes error) Options {
	o.Unset = slices.Clone(o.Unset)
	for _, at := range mistake.Places(mistakes) {
		if name, is := strings.CutPrefix(at.File, fromEnvironment); is {
			o.Unset = append(o.Unset, name)
		}
	}
	return o
}

// fileContent returns what the file of this name contains.
func (o Options) fileContent(name string) ([]byte, error) {
	if o.Content != nil {
		return o.Content, nil
	}
	return o.read(name)
}

// maxFile bounds a configuration file, in bytes: the daemon must not die of a log in its place.
const maxFile = 1 << 20

// read returns the content of a configuration file.
func (o Options) read(path string) ([]byte, error) {
	return bounded.File(filepath.Join(o.Root, path), maxFile)
}
