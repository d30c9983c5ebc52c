package puppetconf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/mistake"
)

// puppetConf is puppet.conf as Puppet itself reads it (lib/puppet/settings in Puppet 7.23). What Puppet makes of some
// hundreds of files is in testdata/puppetconf.txt.
type puppetConf struct {
	file     string
	sections map[string]section
}

// section is a section of puppet.conf: its settings, by name.
type section map[string]written

// written is the value of a setting as it stands in a line, without references replaced.
type written struct {
	text string
	line int // 0 for a default
}

// A program is a part of Puppet that reads puppet.conf: each looks into sections of its own.
type program string

const (
	puppetServer program = "server"
	puppetAgent  program = "agent"
)

// searches returns the sections that count for a program, the strongest first.
func (p program) searches() []string {
	if p == puppetAgent {
		return []string{"agent", "main"}
	}
	return []string{"server", "master", "main"}
}

const (
	// maxValue bounds a value, before and after references are replaced.
	maxValue = 4096
	// maxMistakes bounds what is said of a file that is no puppet.conf at all.
	maxMistakes = 10
)

// parse reads puppet.conf. Puppet ignores the whole file for one line that it cannot parse, and uses its
// defaults, so with mistakes no value of the file counts.
//
// Puppet 3 knows sections of any name, as environments, and lets them set what environment.conf sets today.
func parse(file string, data []byte, puppet3 bool) (c puppetConf, wrong []mistake.Mistake) {
	c = puppetConf{file: file, sections: map[string]section{}}
	name := "main"

	for i, raw := range strings.Split(string(data), "\n") {
		parsed, err := parseLine(raw)
		if err == nil && !puppet3 {
			err = parsed.allowed()
		}
		if err != nil && len(wrong) < maxMistakes {
			at := mistake.Place{File: file, Line: i + 1}
			wrong = append(wrong, mistake.Mistake{At: at, Key: text.Show(parsed.setting), Problem: err.Error()})
		}
		if err != nil {
			continue
		}

		if parsed.section != "" {
			name = parsed.section
		}
		if parsed.setting != "" {
			c.set(name, parsed.setting, written{text: parsed.value, line: i + 1})
		}
	}
	return c, wrong
}

// set sets a setting of a section. Of two lines, the first counts.
func (c puppetConf) set(name, setting string, value written) {
	if c.sections[name] == nil {
		c.sections[name] = section{}
	}
	if _, again := c.sections[name][setting]; !again {
		c.sections[name][setting] = value
	}
}

// puppetLine is a line of puppet.conf: the head of a section, a setting, or neither.
type puppetLine struct {
	section        string
	setting, value string
}

// The syntax of puppet.conf, in Puppet's own terms.
const (
	blank  = `[\s\v]*`                     // Ruby's \s*
	word   = `([\p{L}\p{M}\p{Nd}\p{Pc}]+)` // Ruby's [[:word:]]+
	blanks = " \t\r\n\f\v"
)

var (
	headLine    = regexp.MustCompile(`^` + blank + `\[` + word + `\]` + blank + `$`)
	settingLine = regexp.MustCompile(`^` + blank + word + blank + `=` + blank + `(.*?)` + blank + `$`)
	emptyLine   = regexp.MustCompile(`^` + blank + `(#|$)`)
	quote       = regexp.MustCompile(`^["']|["']$`)
	inBraces    = regexp.MustCompile(`\{` + blank + `([^}]+)` + blank + `\}`)
	fileOption  = regexp.MustCompile(`^` + blank + `(?:owner|group|(mode))` + blank + `=` + blank + `(\w+)` + blank + `$`)
	number      = regexp.MustCompile(`^[0-9]+$`)
)

// parseLine returns an error if Puppet cannot parse the line.
func parseLine(raw string) (puppetLine, error) {
	if !utf8.ValidString(raw) {
		return puppetLine{}, mistake.Problem("is not UTF-8", ignoresTheFile)
	}

	if m := headLine.FindStringSubmatch(raw); m != nil {
		return puppetLine{section: m[1]}, nil
	}
	if m := settingLine.FindStringSubmatch(raw); m != nil {
		value, err := parseValue(m[2])
		return puppetLine{setting: m[1], value: value}, err
	}
	if emptyLine.MatchString(raw) {
		return puppetLine{}, nil
	}
	shown := text.Show(strings.TrimSpace(raw))
	return puppetLine{}, mistake.Problem(shown+" is neither [section] nor setting = value", ignoresTheFile)
}

// ignoresTheFile is the hint at what one line costs.
const ignoresTheFile = "Puppet ignores the whole file for it, and uses its defaults"

// allowed returns an error for a line that only Puppet 3 accepts.
func (l puppetLine) allowed() error {
	if l.section != "" && !slices.Contains([]string{"main", "server", "master", "agent", "user"}, l.section) {
		return mistake.Problem("["+text.Show(l.section)+"] is not a section of Puppet", ignoresTheFile)
	}
	if slices.Contains([]string{"modulepath", "manifest", "config_version"}, l.setting) {
		return mistake.Problem("belongs in environment.conf", "Puppet does not start with it here")
	}
	return nil
}

// parseValue returns what Puppet takes as the value, or an error if Puppet cannot. One quote at each end goes,
// and so do the owner, the group and the mode of a file in braces, as in "/srv/ssl { owner = service, mode = 0771 }".
// Puppet takes the first pair of braces for these, so a reference must not have any.
func parseValue(raw string) (string, error) {
	if lower := strings.ToLower(raw); lower == "true" || lower == "false" {
		return lower, nil
	}

	raw = strings.TrimRight(quote.ReplaceAllString(raw, ""), blanks)
	braces := inBraces.FindStringSubmatchIndex(raw)
	if braces == nil {
		return raw, nil
	}
	inside := strings.TrimRight(raw[braces[2]:braces[3]], blanks+",")
	for _, option := range strings.Split(inside, ",") {
		if !isFileOption(option) {
			return "", mistake.Problem(fmt.Sprintf("braces are for owner, group and mode, not %s", text.Show(option)),
				"write references without braces; "+ignoresTheFile)
		}
	}
	return strings.TrimRight(raw[:braces[0]]+raw[braces[1]:], blanks), nil
}

// isFileOption reports whether a text between braces is the owner, the group or the mode of a file.
func isFileOption(text string) bool {
	m := fileOption.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	isMode := m[1] != ""
	return !isMode || number.MatchString(m[2])
}
