package puppetconf

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/mistake"
)

// reader resolves the settings of puppet.conf for one program.
type reader struct {
	conf     puppetConf
	as       program
	on       layout
	settings map[string]puppetSetting // that Puppet knows
	read     map[string]resolved
}

// resolved is the value of a setting with all references replaced.
type resolved struct {
	text string
	line int // of puppet.conf, that the value is from or depends on; 0 if there is none
	err  error
}

// reader returns a reader for a host whose certname, unless puppet.conf has one, is this one; empty if it is not known.
func (c puppetConf) reader(as program, on layout, certname string) *reader {
	r := &reader{conf: c, as: as, on: on, settings: on.settings(as), read: map[string]resolved{}}
	if certname != "" {
		r.settings["certname"] = puppetSetting{kind: r.settings["certname"].kind, standard: &certname}
	}
	return r
}

// value returns the value of a setting: what "puppet config print --section PROGRAM" prints. The error is a Mistake,
// unless the setting has no value.
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
func (c puppetConf) cannotStart(as program, on layout, certname string) (wrong []mistake.Mistake) {
	on.ssldir = "$confdir/ssl"

	start := c.reader(as, on, certname)
	for _, setting := range []string{"confdir", "vardir", "codedir"} {
		if one, is := errors.AsType[mistake.Mistake](start.value(setting).err); is {
			wrong = append(wrong, one)
		}
	}
	return wrong
}

var (
	errCircular = errors.New("refers to itself")
	errUnknown  = errors.New("is not a setting of Puppet")
	errUnset    = errors.New("has no value")
	errComputed = errors.New("has a default that Puppet computes")
)

func (r *reader) resolve(setting string) resolved {
	if setting == "run_mode" {
		return resolved{text: string(r.as)}
	}
	w, err := r.lookup(setting)
	if err != nil {
		return resolved{err: err}
	}

	text, line, err := r.expand(w)
	if err == nil {
		text, err = r.checkValue(setting, text)
	}
	if err != nil && !isMistake(err) {
		at := mistake.Place{File: r.conf.file, Line: cmp.Or(w.line, line)}
		err = mistake.Mistake{At: at, Key: setting, Problem: err.Error()}
	}
	return resolved{text: text, line: cmp.Or(w.line, line), err: err}
}

func isMistake(err error) bool {
	_, is := errors.AsType[mistake.Mistake](err)
	return is
}

// lookup returns the value of a setting as it is written: in the strongest section that has it, even without a value,
// or else in its default.
func (r *reader) lookup(setting string) (written, error) {
	known, is := r.settings[setting]
	if !is {
		return written{}, errUnknown
	}
	if w, is := r.line(setting); is {
		return w, nil
	}

	if setting == "cadir" {
		return written{text: r.standardCA()}, nil
	}
	if known.standard == nil {
		return written{}, errUnset
	}
	if *known.standard == computed {
		return written{}, errComputed
	}
	return written{text: *known.standard}, nil
}

// line finds a setting in the strongest section that has it.
func (r *reader) line(setting string) (w written, is bool) {
	for _, name := range r.as.searches() {
		if w, is = r.conf.sections[name][setting]; is {
			return w, true
		}
	}
	return written{}, false
}

// standardCA returns the default of cadir: a directory in ssldir, what it links to after "puppetserver ca migrate", or
// where the packaging has it.
func (r *reader) standardCA() string {
	const inSSL = "$ssldir/ca"
	ssl := r.value("ssldir")
	if ssl.err != nil {
		return inSSL // which has this error
	}

	r.on.seen.note(ssl.text) // which has the time of a change in it
	inside := r.on.seen.inRoot(filepath.Join(ssl.text, "ca"))
	if link, err := os.Readlink(inside); err == nil {
		return link
	}
	if _, err := os.Lstat(inside); err == nil {
		return inSSL
	}
	return r.on.cadir
}

var reference = regexp.MustCompile(`\$(?:\w+|\{\w+\})`)

// expand replaces the references to settings, and returns the first line that they depend on. $environment stays as it
// is, since each request has an environment of its own.
func (r *reader) expand(w written) (text string, line int, err error) {
	if len(w.text) > maxValue {
		return "", w.line, errors.New("is too long")
	}

	text = reference.ReplaceAllStringFunc(w.text, func(ref string) string {
		name := strings.Trim(ref, "${}")
		if name == "environment" {
			return ref
		}
		value := r.value(name)
		line = cmp.Or(line, value.line)
		err = cmp.Or(err, referenceError(name, value.err))
		return value.text
	})
	if err == nil && len(text) > maxValue {
		err = errors.New("is too long")
	}
	return text, line, err
}

// referenceError returns the error of a setting that refers to another, whose error is err.
func referenceError(name string, err error) error {
	if errors.Is(err, errCircular) {
		return errors.New("its references do not end")
	}
	if err == nil || isMistake(err) {
		return err
	}
	return mistake.Problem("refers to $"+text.Show(name)+", which "+err.Error(), "write out what it stands for")
}

// checkValue returns the value of a setting as Puppet uses it. The error says that Puppet does not start with the
// value, or that each process takes it for something else.
func (r *reader) checkValue(setting, value string) (string, error) {
	switch setting {
	case "certname":
		return checkCertname(value)
	case "certificate_revocation":
		return checkRevocation(value)
	}

	switch r.settings[setting].kind {
	case "path":
		return checkPath(value)
	case "paths":
		return checkPaths(value)
	case "port":
		return checkPort(value)
	case "number":
		return value, matches(value, wholeNumber, "is not a number")
	case "boolean":
		return value, matches(value, truth, "is neither true nor false")
	case "time":
		return checkTime(value)
	case "list":
		return "", errors.New("is a list, which cannot stand in another value")
	}
	return value, nil
}

// The values of some kinds of setting.
var (
	truth       = regexp.MustCompile(`^(true|false)$`)
	wholeNumber = regexp.MustCompile(`^(0|[1-9][0-9]{0,18})$`)
	portNumber  = regexp.MustCompile(`^[1-9][0-9]{0,4}$`)
	puppetTime  = regexp.MustCompile(`^([0-9]{1,9})([ydhms]?)$`)
)

// matches returns an error for a value that does not match.
func matches(value string, pattern *regexp.Regexp, problem string) error {
	if !pattern.MatchString(value) {
		return unfit(value, problem, "Puppet does not start with it")
	}
	return nil
}

// checkPaths returns paths that are separated by colons, each in its shortest form.
func checkPaths(value string) (string, error) {
	list := strings.Split(value, ":")
	for i, path := range list {
		clean, err := checkPath(path)
		if err != nil {
			return "", err
		}
		list[i] = clean
	}
	return strings.Join(list, ":"), nil
}

// checkTime returns the number of seconds in a time such as 30m.
func checkTime(value string) (string, error) {
	if value == "unlimited" {
		return "Infinity", nil // as Ruby writes it
	}
	m := puppetTime.FindStringSubmatch(value)
	if m == nil {
		return "", unfit(value, "is not a time", "Puppet does not start with it")
	}
	number, _ := strconv.Atoi(m[1]) // the pattern allows nothing else
	units := map[string]int{"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}
	return strconv.Itoa(number * units[m[2]]), nil
}

// checkPath returns a path in its shortest form. Puppet completes a relative path with the directory that the
// process was started in.
func checkPath(value string) (string, error) {
	if !filepath.IsAbs(value) || strings.Contains(value, "\x00") {
		return "", unfit(value, "is not an absolute path", "begin it with a slash")
	}
	return filepath.Clean(value), nil
}

func checkPort(value string) (string, error) {
	number, _ := strconv.Atoi(value) // of what is no number, the pattern says so
	if !portNumber.MatchString(value) || number > 65535 {
		return "", unfit(value, "is not a port", "1 to 65535")
	}
	return value, nil
}

// checkRevocation returns how deep certificates are looked up in the CRL.
func checkRevocation(value string) (string, error) {
	if value == "true" {
		return "chain", nil
	}
	if !slices.Contains([]string{"chain", "leaf", "false"}, value) {
		return "", unfit(value, "is not one of chain, leaf, false", "Puppet does not start with it")
	}
	return value, nil
}

func checkCertname(value string) (string, error) {
	if !IsCertname(value) {
		return "", unfit(value, "is not a certname", "lower case, no spaces, no slash")
	}
	return value, nil
}

// unfit returns the error of a value, which may be empty.
func unfit(value, problem, hint string) error {
	return mistake.Problem(cmp.Or(text.Show(value), `""`)+" "+problem, hint)
}

var validCertname = regexp.MustCompile(`^[^A-Z/\\\s\p{Z}\p{C}]+$`) // no-break spaces and what cannot be seen too

// IsCertname reports whether Puppet can use a name of a host. It reads true and false as something else than a name.
func IsCertname(name string) bool {
	return validCertname.MatchString(name) && name != "true" && name != "false"
}
