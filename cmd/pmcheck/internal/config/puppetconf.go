package config

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
)

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
// it is from or depends on; 0 if there is none. It is what "puppet config print --section server" would print, for the
// few settings that pmcheck needs. The error is a Fault.
func (p *puppetHost) resolve(setting string) (value string, line int, err error) {
	defaults := p.layout.pathDefaults()
	value = "$" + setting
	problem, last := "", 0 // the line that was expanded last
	for depth := 0; problem == "" && strings.Contains(value, "$"); depth++ {
		value = os.Expand(value, func(name string) string {
			w := p.set[name]
			line, last = cmp.Or(line, w.line), cmp.Or(w.line, last)
			text := cmp.Or(w.text, defaults[name])
			if text == "" && depth > 0 {
				problem = cmp.Or(problem, "refers to $"+name+", which is not known")
			}
			return text
		})
		if depth == 10 || len(value) > 4096 { // Puppet's own defaults refer to each other at most four deep
			problem = cmp.Or(problem, "its references do not end")
		}
	}
	if problem != "" {
		return "", last, Fault{place{p.file, last}, setting, problem}
	}
	return value, line, nil
}
