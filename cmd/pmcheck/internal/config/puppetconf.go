package config

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// puppetConf finds the values that `puppet config print --section server` would print,
// for the few settings that pmcheck needs. It is not safe for concurrent use.
type puppetConf struct {
	name     string // shown in origins
	written  map[[2]string]written
	defaults map[string]string
	known    map[string]resolved
}

// written is a setting as puppet.conf has it.
type written struct {
	text string
	line int
}

// resolved is the value of a setting with its references replaced.
type resolved struct {
	value string
	own   int   // the line of the setting itself; 0 if puppet.conf does not have it
	lines []int // every line that contributed
	err   *Fault
}

// parsePuppetConf reads the content of a puppet.conf, as Puppet does: line by line,
// without comments behind values or continued lines. Of two lines with the same
// setting in a section the first counts. Lines before any section are in section "".
// defaults are the values of settings that it does not have; they may refer to others.
func parsePuppetConf(name string, data []byte, defaults map[string]string) (*puppetConf, error) {
	c := &puppetConf{name: name, written: map[[2]string]written{}, defaults: defaults, known: map[string]resolved{}}
	section, n := "", 0
	for line := range strings.Lines(string(bytes.TrimPrefix(data, []byte("\ufeff")))) {
		n++
		text := strings.TrimSpace(line)
		if head, is := strings.CutPrefix(text, "["); is {
			end := strings.LastIndexByte(head, ']')
			if end < 0 {
				return nil, fmt.Errorf("not an ini file: unclosed section %s", show(text))
			}
			section = head[:end]
			continue
		}
		setting, value, _ := strings.Cut(text, "=")
		at := [2]string{section, strings.TrimSpace(setting)}
		if _, again := c.written[at]; !again {
			c.written[at] = written{clean(value), n}
		}
	}
	return c, nil
}

// lookup returns the text of a setting and its line, "" and 0 if there is none. One
// without a value counts as absent. The sections are those that count for a server,
// the strongest first.
func (c *puppetConf) lookup(setting string) (text string, line int) {
	for _, section := range []string{"server", "master", "", "main"} {
		if w := c.written[[2]string{section, setting}]; w.text != "" {
			return w.text, w.line
		}
	}
	return "", 0
}

// clean removes what Puppet does not take as part of a value: quotes around it, and the
// owner and mode of a file, as in "$vardir/ssl { owner = service, mode = 0771 }".
func clean(text string) string {
	if open := strings.LastIndexByte(text, '{'); open >= 0 {
		inside, rest, closed := strings.Cut(text[open+1:], "}")
		if closed && strings.Contains(inside, "=") {
			text = text[:open] + rest
		}
	}
	text = strings.TrimSpace(text)
	for _, q := range []string{`"`, `'`} {
		text = strings.TrimSuffix(strings.TrimPrefix(text, q), q)
	}
	return strings.TrimSpace(text)
}

// resolve returns the value of a setting.
func (c *puppetConf) resolve(setting string) resolved { return c.expand(setting, nil) }

// expand resolves a setting that the settings on path, outermost first, refer to.
// Results are cached, so that the cost of nested references is bounded by the size of
// the file.
func (c *puppetConf) expand(setting string, path []string) resolved {
	if r, ok := c.known[setting]; ok {
		return r
	}
	text, line := c.lookup(setting)
	r := resolved{own: line}
	if line > 0 {
		r.lines = []int{line}
	} else if text = c.defaults[setting]; text == "" {
		return r
	}
	path = append(path, setting)
	reference := regexp.MustCompile(`\$\w+|\$\{\w+\}`)
	r.value = reference.ReplaceAllStringFunc(text, func(ref string) string {
		if r.err != nil {
			return ""
		}
		name := strings.Trim(ref, "${}")
		inner, err := c.follow(name, path)
		if err != nil {
			r.err = c.fault(line, setting, err.Error())
			return ""
		}
		r.err, r.lines = inner.err, append(r.lines, inner.lines...)
		return inner.value
	})
	// No path is that long; a few doubling references would fill the memory.
	if len(r.value) > 4096 {
		r.err = c.fault(line, setting, "is longer than 4096 bytes")
	}
	slices.Sort(r.lines)
	r.lines = slices.Compact(r.lines)
	c.known[setting] = r
	return r
}

// follow resolves a reference made by the last setting of path.
func (c *puppetConf) follow(name string, path []string) (resolved, error) {
	if i := slices.Index(path, name); i >= 0 {
		return resolved{}, fmt.Errorf("circular reference: %s",
			strings.Join(append(path[i:len(path):len(path)], name), " → "))
	}
	r := c.expand(name, path)
	if r.own == 0 && r.value == "" && r.err == nil {
		return r, fmt.Errorf("refers to $%s, which is not known", name)
	}
	return r, nil
}

// at returns where a line of puppet.conf is; 0 is the file as a whole.
func (c *puppetConf) at(line int) place { return inFile(layerPuppet, c.name, line) }

// fault returns a Fault of a setting in a line.
func (c *puppetConf) fault(line int, setting, problem string) *Fault {
	return &Fault{setting, problem, "", c.at(line)}
}

// place returns where a resolved value came from. unset is the origin of a value to
// which puppet.conf contributed nothing.
func (c *puppetConf) place(r resolved, unset string) place {
	switch {
	case r.own > 0:
		return c.at(r.own)
	case len(r.lines) == 0:
		return place{layerPuppet, 0, unset}
	}
	origins := make([]string, len(r.lines))
	for i, line := range r.lines {
		origins[i] = c.at(line).origin
	}
	return place{layerPuppet, r.lines[0], "derived from " + join(origins)}
}

// pathDefaults returns Puppet's own defaults for the paths of a host's files.
func (l layout) pathDefaults() map[string]string {
	return map[string]string{
		"confdir":       l.confdir,
		"vardir":        l.vardir,
		"ssldir":        l.ssldir,
		"certdir":       "$ssldir/certs",
		"privatekeydir": "$ssldir/private_keys",
		"hostcert":      "$certdir/$certname.pem",
		"hostprivkey":   "$privatekeydir/$certname.pem",
		"localcacert":   "$certdir/ca.pem",
		"hostcrl":       "$ssldir/crl.pem",
	}
}

func (l layout) conf() string { return filepath.Join(l.confdir, "puppet.conf") }
