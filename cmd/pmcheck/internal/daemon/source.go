package daemon

import (
	"errors"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/puppetconf"
	"github.com/pmcheck/pmcheck/systemd"
)

// Source is where a daemon reads its configuration, when it starts and from then on. It keeps a copy of the last good
// one in the daemon's runtime directory, beside what Puppet's configuration said last, for a start while one of the
// files is broken: a restart must not take a healthy master out.
//
// Only the daemon reads the copies. A command that root runs must not take settings from a file that the daemon can
// write.
type Source struct {
	options  config.Options
	lastGood systemd.RuntimeFile
	puppet   systemd.RuntimeFile
	mistakes error // in the current file, if Start has returned the last good one instead

	// load and again are functions of package config. Tests replace them with functions that hang.
	load  func(config.Options) (*config.Loaded, error)
	again func(*config.Loaded, puppetconf.Identity) (*config.Loaded, error)
}

// NewSource returns a source that keeps its copies in a directory. If that is empty, it keeps none.
func NewSource(o config.Options, runtime string) *Source {
	s := &Source{
		options:  o,
		lastGood: systemd.RuntimeFile{Dir: runtime, Name: "last-good.yaml"},
		puppet:   systemd.RuntimeFile{Dir: runtime, Name: "puppet.json"},
		load:     config.Load,
		again:    (*config.Loaded).Again,
	}
	s.options.Known, _ = systemd.Load[puppetconf.Identity](s.puppet) // what cannot be read is not known
	return s
}

// Start reads the configuration with which a daemon starts. If there are mistakes, Start returns the last good
// configuration, without the variables that have one; if that cannot be used either, the error names the mistakes.
func (s *Source) Start() (*config.Loaded, error) {
	loaded, mistakes := s.load(s.options)
	if mistakes == nil {
		return loaded, nil
	}
	if s.lastGood.Dir == "" {
		return nil, mistakes
	}

	o := s.options.Without(mistakes)
	o.File = s.lastGood.Path()
	kept, err := s.load(o)
	if err != nil {
		return nil, mistakes
	}
	kept.File = loaded.File
	s.mistakes = mistakes
	return kept, nil
}

// reading is what the files of the configuration say at one time.
type reading struct {
	reload   bool // an operator wants it used; otherwise it is of Puppet's configuration alone
	loaded   *config.Loaded
	mistakes error
}

// read reads the configuration again, and sends what it says to done, which must have room for it. It does not wait
// for that: a file system may hang, and the watchdog must be fed.
func (s *Source) read(done chan<- reading) {
	load := s.load
	options := s.options
	go func() {
		loaded, mistakes := load(options)
		done <- reading{reload: true, loaded: loaded, mistakes: mistakes}
	}()
}

// readPuppet reads Puppet's configuration again, as read does, if one of its files has changed. The identity that was
// known does not count if the master has refuted it.
func (s *Source) readPuppet(inUse *config.Loaded, refuted bool, done chan<- reading) {
	again := s.again
	known := s.options.Known
	if refuted {
		known = puppetconf.Identity{}
	}

	go func() {
		loaded, mistakes := again(inUse, known)
		done <- reading{loaded: loaded, mistakes: mistakes}
	}()
}

// keep saves a configuration for a start while one of its files is broken.
func (s *Source) keep(loaded *config.Loaded) error {
	err := s.lastGood.Write(loaded.Content)
	if loaded.Doubt == nil {
		s.options.Known = loaded.Identity()
		err = errors.Join(err, s.puppet.Save(s.options.Known))
	}
	return err
}
