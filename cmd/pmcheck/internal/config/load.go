package config

// DefaultFile is read when Options.File is empty; it may be absent.
const DefaultFile = "/etc/pmcheck/pmcheck.yaml"

// Options says where a configuration comes from.
type Options struct {
	// File is the path of pmcheck.yaml. Empty means DefaultFile, which may be
	// absent; a file named here must exist.
	File string
	// Environ are NAME=VALUE pairs as os.Environ returns them. Only names beginning
	// with PMCHECK_ matter.
	Environ []string
	// Flags are dotted keys and their values from the command line.
	Flags map[string]string
	// Root is the directory in which every absolute path is looked up; empty means /.
	Root string
	// Hostname tells the host's name; nil means os.Hostname.
	Hostname func() (string, error)
}

// Setting is one value of a configuration and where it came from.
type Setting struct {
	// Key is the dotted key, such as probe.timeout.
	Key string
	// Value is what one would write in YAML.
	Value string
	// Origin is "default", "FILE:LINE", "environment NAME", "flag --NAME", a Puppet
	// layout, or what the value was derived from.
	Origin string
}

// Loaded is a valid configuration that knows its origins.
type Loaded struct {
	Config Config
	// Warnings are sentences about what is allowed and probably not meant.
	Warnings []string

	settings []Setting
}

// Settings returns every setting in the order of Config.
func (l *Loaded) Settings() []Setting { return l.settings }
