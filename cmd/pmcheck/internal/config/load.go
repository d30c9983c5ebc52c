package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DefaultFile is read when Options.File is empty; it may be absent.
const DefaultFile = "/etc/pmcheck/pmcheck.yaml"

// The environment variables for Config.HoldsIn and Config.Socket.
const (
	holdsVariable  = "PMCHECK_HOLDS"
	socketVariable = "PMCHECK_SOCKET"
)

// Options says where a configuration comes from.
type Options struct {
	// File is the path of pmcheck.yaml. Empty means DefaultFile, which may be
	// absent; a file named here must exist.
	File string
	// Environ are NAME=VALUE pairs as os.Environ returns them. Only names beginning
	// with PMCHECK_ matter; PMCHECK_CONFIG does not. Config.HoldsIn names two that are not settings.
	Environ []string
	// Listen is the value of the flag --listen; nil if it was not given.
	Listen *string
	// Root is the directory in which all paths are looked up; empty means /. No
	// path in a Config begins with it.
	Root string
	// Hostname returns the host's name; nil means os.Hostname.
	Hostname func() (string, error)
}

// defaults returns Default with the directory of the holds and the socket that o names.
func (o Options) defaults() Config {
	c := Default()
	socket := ""
	for _, pair := range o.Environ {
		switch name, value, _ := strings.Cut(pair, "="); name {
		case holdsVariable:
			c.HoldsIn, c.Socket = value, filepath.Join(value, "pmcheck.sock")
		case socketVariable:
			socket = value
		}
	}
	c.Socket = cmp.Or(socket, c.Socket)
	return c
}

// Setting is one value of a configuration and where it came from.
type Setting struct {
	// Key is the dotted key, such as probe.timeout.
	Key string `json:"key"`
	// Value is the value as written in YAML.
	Value string `json:"value"`
	// Origin is "default", "FILE:LINE", "environment NAME", "flag --NAME", the name
	// of a Puppet layout, or what the value was derived from.
	Origin string `json:"origin"`
}

// Loaded is a valid configuration that knows its origins.
type Loaded struct {
	Config Config
	// File is the absolute path of the pmcheck.yaml that was read; empty if there is
	// none.
	File string
	// Content is that file as it was read.
	Content []byte
	// Warnings are sentences about what is valid but probably not intended.
	Warnings []string

	origins map[string]place
}

// Settings returns every setting in the order of Config.
func (l *Loaded) Settings() []Setting {
	var list []Setting
	for _, f := range fields(&l.Config) {
		list = append(list, Setting{f.key, format(f.value), cmp.Or(l.origins[f.key].origin, "default")})
	}
	return list
}

// Load reads every source and returns the resulting configuration. The error has a line
// and wraps a Fault for each mistake, unless File cannot be read at all; it then wraps
// the cause, such as fs.ErrNotExist.
//
// Puppet's configuration is used only for settings that no other source has, so Load
// works on a host without Puppet if probe.certname, certificate, key and ca are set.
func Load(o Options) (*Loaded, error) { return o.load(true) }

// Check is Load without Puppet: settings that only puppet.conf has stay empty. It is
// meant for validating a file on a host that will not use it.
func Check(o Options) (*Loaded, error) { return o.load(false) }

func (o Options) load(askPuppet bool) (*Loaded, error) {
	name, data, err := o.readFile()
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	found := &faults{}
	l := &Loaded{Config: o.defaults(), File: fullName(name), Content: data}
	l.origins = o.decode(&l.Config, name, data, found)
	if askPuppet {
		l.Warnings = o.askPuppet(&l.Config, l.origins, found)
	}
	l.Config.validate(l.origins, found)
	if err := found.err(); err != nil {
		return nil, err
	}
	l.Warnings = slices.Concat(l.Warnings, l.Config.warnings(), l.Config.Guard.warnings(), l.Config.Budget.warnings())
	l.Config.Probe.MaxAge = l.Config.Probe.maxAge()
	return l, nil
}

// Readable returns the absolute path of pmcheck.yaml, as in Loaded, and the settings
// that can be read, even from sources that Load refuses; the others have their
// defaults. A daemon may have another configuration.
func Readable(o Options) (file string, c Config) {
	name, data, _ := o.readFile()
	c = o.defaults()
	o.decode(&c, name, data, &faults{})
	return fullName(name), c
}

// fullName makes the name of a file absolute; without a file it stays empty.
func fullName(name string) string {
	if full, err := filepath.Abs(name); err == nil && name != "" {
		return full
	}
	return name
}

// readFile returns the name and content of pmcheck.yaml, or neither if there is none.
func (o Options) readFile() (name string, data []byte, err error) {
	name = cmp.Or(o.File, DefaultFile)
	path := filepath.Join(o.Root, name)
	data, err = readFile(path)
	if o.File == "" && errors.Is(err, fs.ErrNotExist) {
		// A dangling link is a file that was lost, not one that never existed.
		if _, absent := os.Lstat(path); absent != nil {
			return "", nil, nil
		}
	}
	return name, data, err
}
