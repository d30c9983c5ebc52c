package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
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
	// maxPuppetValue bounds a value, before and after references are replaced.
	maxPuppetValue = 4096
	// maxPuppetFaults bounds what is said of a file that is no puppet.conf at all.
	maxPuppetFaults = 10
)

// parsePuppetConf reads puppet.conf. Puppet ignores the whole file for one line that it cannot parse, and uses its
// defaults, so with faults no value of the file counts.
//
// Puppet 3 knows sections of any name, as environments, and lets them set what environment.conf sets today.
func parsePuppetConf(file string, data []byte, puppet3 bool) (c puppetConf, faults []Fault) {
	c = puppetConf{file, map[string]section{}}
	name := "main"

	for i, text := range strings.Split(string(data), "\n") {
		parsed, err := parsePuppetLine(text)
		if err == nil && !puppet3 {
			err = parsed.allowed()
		}
		if err != nil && len(faults) < maxPuppetFaults {
			faults = append(faults, Fault{place{file, i + 1}, show(parsed.setting), err.Error()})
		}
		if err != nil {
			continue
		}

		if parsed.section != "" {
			name = parsed.section
		}
		if parsed.setting != "" {
			c.set(name, parsed.setting, written{parsed.value, i + 1})
		}
	}
	return c, faults
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
	reference   = regexp.MustCompile(`\$(?:\w+|\{\w+\})`)
)

// parsePuppetLine returns an error if Puppet cannot parse the line.
func parsePuppetLine(text string) (puppetLine, error) {
	if !utf8.ValidString(text) {
		return puppetLine{}, wrong("is not UTF-8", ignoresTheFile)
	}
	if m := headLine.FindStringSubmatch(text); m != nil {
		return puppetLine{section: m[1]}, nil
	}
	if m := settingLine.FindStringSubmatch(text); m != nil {
		value, err := parsePuppetValue(m[2])
		return puppetLine{setting: m[1], value: value}, err
	}
	if emptyLine.MatchString(text) {
		return puppetLine{}, nil
	}
	return puppetLine{}, wrong(show(strings.TrimSpace(text))+" is neither [section] nor setting = value", ignoresTheFile)
}

// ignoresTheFile is the hint at what one line costs.
const ignoresTheFile = "Puppet ignores the whole file for it, and uses its defaults"

// allowed returns an error for a line that only Puppet 3 accepts.
func (l puppetLine) allowed() error {
	if l.section != "" && !slices.Contains([]string{"main", "server", "master", "agent", "user"}, l.section) {
		return wrong("["+show(l.section)+"] is not a section of Puppet", ignoresTheFile)
	}
	if slices.Contains([]string{"modulepath", "manifest", "config_version"}, l.setting) {
		return wrong("belongs in environment.conf", "Puppet does not start with it here")
	}
	return nil
}

// parsePuppetValue returns what Puppet takes as the value, or an error if Puppet cannot. One quote at each end goes,
// and so do the owner, the group and the mode of a file in braces, as in "/srv/ssl { owner = service, mode = 0771 }".
// Puppet takes the first pair of braces for these, so a reference must not have any.
func parsePuppetValue(text string) (string, error) {
	if word := strings.ToLower(text); word == "true" || word == "false" {
		return word, nil
	}
	text = strings.TrimRight(quote.ReplaceAllString(text, ""), blanks)

	braces := inBraces.FindStringSubmatchIndex(text)
	if braces == nil {
		return text, nil
	}
	inside := strings.TrimRight(text[braces[2]:braces[3]], blanks+",")
	for _, each := range strings.Split(inside, ",") {
		m := fileOption.FindStringSubmatch(each)
		isMode := m != nil && m[1] != ""
		if m == nil || isMode && !matches(`^[0-9]+$`, m[2]) {
			return "", wrong(fmt.Sprintf("braces are for owner, group and mode, not %s", show(each)),
				"write references without braces; "+ignoresTheFile)
		}
	}
	return strings.TrimRight(text[:braces[0]]+text[braces[1]:], blanks), nil
}

// reader resolves the settings of puppet.conf for one program.
type reader struct {
	puppetConf
	as       program
	defaults map[string]string // Puppet's own, with their references
	read     map[string]resolved
}

// resolved is the value of a setting with all references replaced.
type resolved struct {
	text string
	line int // of puppet.conf, that the value is from or depends on; 0 if there is none
	err  error
}

func (c puppetConf) reader(as program, defaults map[string]string) *reader {
	return &reader{c, as, defaults, map[string]resolved{}}
}

// value returns the value of a setting: what "puppet config print --section PROGRAM" prints, for the settings in
// defaults. The error is a Fault.
func (r *reader) value(setting string) resolved {
	if known, is := r.read[setting]; is {
		return known
	}
	r.read[setting] = resolved{err: errCircular} // until it is resolved
	r.read[setting] = r.resolve(setting)
	return r.read[setting]
}

// cannotStart returns the mistakes in the directories without which no program of Puppet starts. It looks for them
// before it knows where the packaging has its ssldir.
func (c puppetConf) cannotStart(as program, defaults map[string]string) (faults []Fault) {
	defaults = maps.Clone(defaults)
	defaults["ssldir"] = "$confdir/ssl"
	start := c.reader(as, defaults)
	for _, setting := range []string{"confdir", "vardir", "codedir"} {
		if fault, is := errors.AsType[Fault](start.value(setting).err); is {
			faults = append(faults, fault)
		}
	}
	return faults
}

var (
	errCircular = errors.New("refers to itself")
	errUnknown  = errors.New("not known")
)

func (r *reader) resolve(setting string) resolved {
	if setting == "run_mode" {
		return resolved{text: string(r.as)}
	}
	w, known := r.lookup(setting)
	if !known {
		return resolved{err: errUnknown}
	}

	text, line, err := r.expand(w)
	if err == nil {
		text, err = checkPuppetValue(setting, text)
	}
	if err != nil && !isFault(err) {
		err = Fault{place{r.file, cmp.Or(w.line, line)}, setting, err.Error()}
	}
	return resolved{text, cmp.Or(w.line, line), err}
}

func isFault(err error) bool {
	_, is := errors.AsType[Fault](err)
	return is
}

// lookup finds the line of the strongest section that has the setting. A setting without a value counts.
func (r *reader) lookup(setting string) (written, bool) {
	text, known := r.defaults[setting]
	if !known && setting != "certname" { // whose default is not in the table
		return written{}, false
	}
	for _, name := range r.as.searches() {
		if w, is := r.sections[name][setting]; is {
			return w, true
		}
	}
	return written{text: text}, known
}

// expand replaces the references to settings, and returns the first line that they depend on. $environment stays as it
// is: it is another one for each request.
func (r *reader) expand(w written) (text string, line int, err error) {
	if len(w.text) > maxPuppetValue {
		return "", w.line, errors.New("is too long")
	}
	text = reference.ReplaceAllStringFunc(w.text, func(ref string) string {
		name := strings.Trim(ref, "${}")
		if name == "environment" {
			return ref
		}
		value := r.value(name)
		line = cmp.Or(line, value.line)
		failed := value.err
		switch {
		case errors.Is(failed, errUnknown):
			failed = wrong("refers to $"+show(name)+", which is not known", "write out what it stands for")
		case errors.Is(failed, errCircular):
			failed = errors.New("its references do not end")
		}
		err = cmp.Or(err, failed)
		return value.text
	})
	if err == nil && len(text) > maxPuppetValue {
		err = errors.New("is too long")
	}
	return text, line, err
}

// checkPuppetValue returns a path in its shortest form, and an error for a value with which Puppet does not start, or
// that means something else for each process: Puppet completes a relative path with the directory it was started in.
func checkPuppetValue(setting, value string) (string, error) {
	shown := cmp.Or(show(value), `""`)
	switch {
	case setting == "certname":
		if !isPuppetCertname(value) {
			return "", wrong(shown+" is not a certname", "lower case, no spaces, no slash")
		}
	case setting == "certificate_revocation":
		if value == "true" {
			return "chain", nil
		}
		if !slices.Contains([]string{"chain", "leaf", "false"}, value) {
			return "", wrong(shown+" is not one of chain, leaf, false", "Puppet does not start with it")
		}
	case strings.HasSuffix(setting, "port"):
		if !matches(`^[1-9][0-9]{0,4}$`, value) || !isPort(value) {
			return "", wrong(shown+" is not a port", "1 to 65535")
		}
	case isPuppetPath(setting):
		if !filepath.IsAbs(value) || strings.Contains(value, "\x00") {
			return "", wrong(shown+" is not an absolute path", "begin it with a slash")
		}
		return filepath.Clean(value), nil
	}
	return value, nil
}

// isPuppetCertname reports whether Puppet can use a name. It reads true and false as something else than a name.
func isPuppetCertname(name string) bool {
	return name != "" && name != "true" && name != "false" && isCertname(name)
}

// isPuppetPath reports whether a setting is a path.
func isPuppetPath(setting string) bool {
	files := []string{"hostcert", "hostprivkey", "hostpubkey", "hostcsr", "localcacert", "hostcrl"}
	return strings.HasSuffix(setting, "dir") || slices.Contains(files, setting)
}

// puppetDefaults returns Puppet's own defaults for what is needed to find a host's names and files, and for what the
// paths of such files may refer to. Puppet's default certname is not among them: see certname.
func (l layout) puppetDefaults() map[string]string {
	return map[string]string{
		"confdir":       l.confdir,
		"vardir":        l.vardir,
		"codedir":       cmp.Or(l.codedir, filepath.Join(l.confdir, "code")),
		"statedir":      "$vardir/state",
		"ssldir":        l.ssldir,
		"certdir":       "$ssldir/certs",
		"privatekeydir": "$ssldir/private_keys",
		"publickeydir":  "$ssldir/public_keys",
		"requestdir":    "$ssldir/certificate_requests",
		"privatedir":    "$ssldir/private",
		"hostcert":      "$certdir/$certname.pem",
		"hostprivkey":   "$privatekeydir/$certname.pem",
		"hostpubkey":    "$publickeydir/$certname.pem",
		"hostcsr":       "$requestdir/$certname.pem",
		"localcacert":   "$certdir/ca.pem",
		"hostcrl":       "$ssldir/crl.pem",

		"certificate_revocation": "chain",
		"dns_alt_names":          "",
		"server":                 "puppet",
		"ca_server":              "$server",
		"report_server":          "$server",
		"masterport":             "8140",
		"serverport":             "$masterport",
		"ca_port":                "$serverport",
		"user":                   "puppet",
		"group":                  "puppet",
	}
}
