package config

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// reader resolves the settings of puppet.conf for one program.
type reader struct {
	conf     puppetConf
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
	return &reader{conf: c, as: as, defaults: defaults, read: map[string]resolved{}}
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
		at := place{file: r.conf.file, line: cmp.Or(w.line, line)}
		err = Fault{at: at, key: setting, problem: err.Error()}
	}
	return resolved{text: text, line: cmp.Or(w.line, line), err: err}
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
		if w, is := r.conf.sections[name][setting]; is {
			return w, true
		}
	}
	return written{text: text}, known
}

var reference = regexp.MustCompile(`\$(?:\w+|\{\w+\})`)

// expand replaces the references to settings, and returns the first line that they depend on. $environment stays as it
// is, since each request has an environment of its own.
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
		err = cmp.Or(err, referenceError(name, value.err))
		return value.text
	})
	if err == nil && len(text) > maxPuppetValue {
		err = errors.New("is too long")
	}
	return text, line, err
}

// referenceError returns the error of a setting that refers to another, whose error is err.
func referenceError(name string, err error) error {
	if errors.Is(err, errUnknown) {
		return wrong("refers to $"+show(name)+", which is not known", "write out what it stands for")
	}
	if errors.Is(err, errCircular) {
		return errors.New("its references do not end")
	}
	return err
}

// checkPuppetValue returns the value of a setting as Puppet uses it. The error says that Puppet does not start with the
// value, or that each process takes it for something else.
func checkPuppetValue(setting, value string) (string, error) {
	if isPuppetPath(setting) {
		return checkPuppetPath(value)
	}
	if strings.HasSuffix(setting, "port") {
		return checkPuppetPort(value)
	}
	switch setting {
	case "certname":
		return checkPuppetCertname(value)
	case "certificate_revocation":
		return checkRevocation(value)
	}
	return value, nil
}

// isPuppetPath reports whether a setting is a path.
func isPuppetPath(setting string) bool {
	files := []string{"hostcert", "hostprivkey", "hostpubkey", "hostcsr", "localcacert", "hostcrl"}
	return strings.HasSuffix(setting, "dir") || slices.Contains(files, setting)
}

// checkPuppetPath returns a path in its shortest form. Puppet completes a relative path with the directory that the
// process was started in.
func checkPuppetPath(value string) (string, error) {
	if !filepath.IsAbs(value) || strings.Contains(value, "\x00") {
		return "", unfit(value, "is not an absolute path", "begin it with a slash")
	}
	return filepath.Clean(value), nil
}

var portNumber = regexp.MustCompile(`^[1-9][0-9]{0,4}$`)

func checkPuppetPort(value string) (string, error) {
	if !portNumber.MatchString(value) || !isPort(value) {
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

func checkPuppetCertname(value string) (string, error) {
	if !isPuppetCertname(value) {
		return "", unfit(value, "is not a certname", "lower case, no spaces, no slash")
	}
	return value, nil
}

// unfit returns the error of a value, which may be empty.
func unfit(value, problem, hint string) error {
	return wrong(cmp.Or(show(value), `""`)+" "+problem, hint)
}

// isPuppetCertname reports whether Puppet can use a name. It reads true and false as something else than a name.
func isPuppetCertname(name string) bool {
	isName := !slices.Contains([]string{"", "true", "false"}, name)
	return isName && isCertname(name)
}
