package puppetconf

import (
	_ "embed"
	"strings"
)

// settingsText has the settings that Puppet knows, which are the names that a reference in puppet.conf may have.
// A test in test/e2e holds it against Puppet's own library.
//
//go:embed settings.txt
var settingsText string

// puppetSetting is a setting that Puppet knows.
type puppetSetting struct {
	kind     string  // a kind that checkValue knows
	standard *string // its default, with references; nil if there is none, computed if Puppet finds it out on each host
}

// computed stands for a default that Puppet finds out on each host, such as the host's name.
const computed = "?"

// settings returns all settings that Puppet knows, by name, with the defaults of a packaging and of a program.
func (l layout) settings(as program) map[string]puppetSetting {
	all := map[string]puppetSetting{}
	for line := range strings.Lines(settingsText) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		isComment := len(columns) == 1
		if isComment {
			continue
		}

		setting := puppetSetting{kind: columns[1]}
		if len(columns) > 2 {
			setting.standard = &columns[2]
		}
		all[columns[0]] = setting
	}

	for name, standard := range l.defaults(as) {
		all[name] = puppetSetting{kind: all[name].kind, standard: &standard}
	}
	return all
}
