package config

import (
	"cmp"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// A judge reports the rules that a configuration breaks.
type judge struct {
	origins map[string]place
	unread  []Fault // of values that could not be read
	faults  *faults
}

// validate checks c against the rules for single settings, which are in their tags, and
// against those that involve several settings.
func (c *Config) validate(origins map[string]place, found *faults) {
	j := judge{origins, slices.Clone(found.list), found}
	for _, f := range fields(c) {
		j.setting(f)
	}
	j.rule("listen", isAddress(c.Listen), show(c.Listen)+" is not an address",
		"host:port, or :9200 for every interface")
	for _, m := range c.Fleet {
		j.rule("fleet", IsMember(m), show(m)+" is not a master", "such as m1 or m1:9200")
	}
	j.probe(c.Probe)
	j.services(c)
	for _, one := range c.Checks {
		j.rule("checks."+one.Name, !one.Shared || one.Severity != check.Eject, "cannot be eject",
			"the masters share what it looks at, so all of them would be taken out in the same minute")
	}
	j.budget(c.Budget)
}

// rule adds a fault of key unless ok is true. The others are further keys that the
// rule involves. If the value of one of these keys could not be read, the rule is
// skipped. The fault is located at the first of them that is not a default: if the
// timeout exceeds the interval, perhaps only the interval was set.
func (j judge) rule(key string, ok bool, problem, hint string, others ...string) {
	if ok {
		return
	}
	at, keys := place{}, append([]string{key}, others...)
	for _, k := range keys {
		at = cmp.Or(at, j.origins[k])
	}
	if !slices.ContainsFunc(j.unread, func(f Fault) bool { return slices.Contains(keys, f.key) }) {
		j.faults.add(at, key, problem, hint)
	}
}

// setting applies the rules in the tags of a setting, which check.Check describes.
func (j judge) setting(f field) {
	if hint, is := f.tag.Lookup("required"); is {
		j.rule(f.key, f.value.Len() > 0, "is empty", hint)
	}
	if low, high := f.tag.Get("min"), f.tag.Get("max"); high != "" {
		ok := f.bound(low) <= f.value.Int() && f.value.Int() <= f.bound(high)
		j.rule(f.key, ok, format(f.value)+" is out of range", low+" to "+high)
	}
	switch v := f.value.Interface().(type) {
	case string:
		j.text(f, v)
	case []string:
		for _, item := range v {
			j.text(f, item)
		}
	}
}

// bound parses a bound in a tag. A test parses every tag, so this cannot fail.
func (f field) bound(text string) int64 {
	v, err := parse(f.value.Type(), text)
	if err != nil {
		panic(err)
	}
	return reflect.ValueOf(v).Int()
}

func (j judge) text(f field, s string) {
	if kind := f.tag.Get("path"); kind == "absolute" || kind == "optional" && s != "" {
		j.rule(f.key, filepath.IsAbs(s), show(s)+" is not an absolute path", "")
	}
	if example := f.tag.Get("target"); example != "" && s != "" {
		j.rule(f.key, isTarget(s), show(s)+" is not a host and port", "such as "+example)
	}
}

// services checks the names of services, which become URL paths and parts of the
// names of hold files. Paths with a meaning of their own are reserved.
func (j judge) services(c *Config) {
	taken := map[string]string{"server": "always exists", "puppetdb": "exists if puppetdb.address is set",
		"live": "is a reserved path", "status": "is a reserved path", "metrics": "is a reserved path"}
	for _, n := range c.Services {
		j.rule("services", drain.CheckName(n) == nil, show(n)+" is not the name of a service",
			"a-z, 0-9, dot, underscore and hyphen")
		j.rule("services", taken[n] == "", show(n)+" "+taken[n], "")
		taken[n] = "is listed twice"
	}
}
