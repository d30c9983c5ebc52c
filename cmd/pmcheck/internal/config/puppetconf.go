package config

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A puppetConf has what "puppet config print --section server" would print, for the few settings that pmcheck needs.
type puppetConf struct {
	name     string
	set      map[string]written
	defaults map[string]string // of settings that it does not have; they may refer to others
	left     int               // how many references may still be followed
}

// written is a setting as puppet.conf has it.
type written struct {
	text     string
	line     int
	strength int // of the section
}

// parsePuppetConf reads puppet.conf as Puppet does: line by line, without comments behind values or
// continued lines. Of two lines with the same setting in a section the first counts, and one without a
// value counts as absent.
func parsePuppetConf(data []byte) map[string]written {
	sections := []string{"main", "", "master", "server"} // those that count for a server, the strongest last
	set, section := map[string]written{}, ""
	lines := strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n")
	for i, text := range lines {
		text = strings.TrimSpace(text)
		if head, is := strings.CutPrefix(text, "["); is {
			section, _, _ = strings.Cut(head, "]")
			continue
		}
		setting, value, _ := strings.Cut(text, "=")
		setting = strings.TrimSpace(setting)
		w := written{clean(value), i + 1, slices.Index(sections, section)}
		if old, again := set[setting]; w.text != "" && w.strength >= 0 && (!again || w.strength > old.strength) {
			set[setting] = w
		}
	}
	return set
}

// clean removes what Puppet does not take as part of a value: quotes around it, and the
// owner and mode of a file, as in "$vardir/ssl { owner = service, mode = 0771 }".
func clean(text string) string {
	return strings.Trim(regexp.MustCompile(`\{[^}]*=[^}]*\}`).ReplaceAllString(text, ""), " \t\r\"'")
}

// resolve returns the value of a setting, with references replaced, and the line of puppet.conf that
// it is from or depends on; 0 if there is none. The error is a Fault.
func (c *puppetConf) resolve(setting string) (value string, line int, err error) {
	c.left = 1000 // bounds what circular and doubling references cost
	return c.expand(setting)
}

func (c *puppetConf) expand(setting string) (value string, line int, err error) {
	w := c.set[setting]
	line = w.line
	value = os.Expand(cmp.Or(w.text, c.defaults[setting]), func(name string) string {
		if c.left--; c.left < 0 {
			err = cmp.Or(err, c.fault(w.line, setting, "circular reference to $"+name))
		}
		if err != nil {
			return ""
		}
		inner, at, fault := c.expand(name)
		if line, err = cmp.Or(line, at), fault; err == nil && inner == "" {
			err = c.fault(w.line, setting, "refers to $"+name+", which is not known")
		}
		return inner
	})
	if err == nil && len(value) > 4096 {
		err = c.fault(w.line, setting, "is longer than 4096 bytes")
	}
	if err != nil {
		value = ""
	}
	return value, line, err
}

// fault returns a Fault of a setting in a line.
func (c *puppetConf) fault(line int, setting, problem string) error {
	return Fault{setting, problem, "", inFile(layerPuppet, c.name, line)}
}
