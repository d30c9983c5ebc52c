package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// The layers of a configuration, weakest first.
const (
	layerDefault = iota
	layerPuppet
	layerFile
	layerEnviron
	layerFlags
)

// A layer contains the settings of one source: typed values by dotted key.
type layer map[string]entry

type entry struct {
	value any
	at    place
}

func (l layer) set(key string, value any, at place) { l[key] = entry{value, at} }

// defaultLayer returns the weakest layer, which contains every setting of c.
func defaultLayer(c Config) layer {
	l := layer{}
	for _, f := range fields(&c) {
		l.set(f.key, f.value.Interface(), place{layerDefault, 0, "default"})
	}
	return l
}

// overlay returns the entries of all layers, of which the last wins.
func overlay(layers ...layer) layer {
	all := layer{}
	for _, l := range layers {
		maps.Copy(all, l)
	}
	return all
}

// apply sets every setting of c to the value of the layer, which has all of them in
// the right types.
func (l layer) apply(c *Config) {
	v := viper.New()
	for key, e := range l {
		v.Set(key, e.value)
	}
	for _, f := range fields(c) {
		f.value.Set(reflect.ValueOf(v.Get(f.key)))
	}
}

// text returns the string value of a key, "" if the layer has none.
func (l layer) text(key string) string {
	s, _ := l[key].value.(string)
	return s
}

// A schema lists what can be set: every key with its type, and the sections.
type schema struct {
	keys     []string
	types    map[string]reflect.Type
	sections map[string]bool
}

func newSchema(c Config) schema {
	s := schema{types: map[string]reflect.Type{}, sections: map[string]bool{}}
	for _, f := range fields(&c) {
		s.keys = append(s.keys, f.key)
		s.types[f.key] = f.value.Type()
		for i, r := range f.key {
			if r == '.' {
				s.sections[f.key[:i]] = true
			}
		}
	}
	return s
}

// suggest returns a hint with the setting or section nearest to an unknown one.
func (s schema) suggest(key string) string {
	return suggest(key, slices.Concat(s.keys, slices.Sorted(maps.Keys(s.sections))))
}

// variable returns the name of the environment variable of a key.
func variable(key string) string {
	return "PMCHECK_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// environ reads the PMCHECK_ variables, except PMCHECK_CONFIG, which names the file and
// is read with the command line, and those that are not settings. An empty variable is a
// fault, since it may be meant as unset or as empty text.
func (s schema) environ(environ []string, faults *faults) layer {
	known := map[string]string{}
	for _, key := range s.keys {
		known[variable(key)] = key
	}
	l := layer{}
	for i, pair := range environ {
		name, text, _ := strings.Cut(pair, "=")
		special := slices.Contains([]string{"PMCHECK_CONFIG", holdsVariable, socketVariable}, name)
		if !strings.HasPrefix(name, "PMCHECK_") || special {
			continue
		}
		at := place{layerEnviron, i, "environment " + show(name)}
		key, ok := known[name]
		switch {
		case !ok:
			faults.add(at, "", "unknown variable", s.suggestVariable(name))
		case text == "":
			faults.add(at, key, "is empty", "unset it, or give it a value")
		default:
			s.override(l, key, text, at, faults)
		}
	}
	return l
}

func (s schema) suggestVariable(name string) string {
	key := Nearest(strings.TrimPrefix(name, "PMCHECK_"), slices.Concat(s.keys, []string{"config"}))
	if key == "" {
		return ""
	}
	return "did you mean " + variable(key) + "?"
}

// override sets a key from one string; the items of a list are separated by commas.
func (s schema) override(l layer, key, text string, at place, faults *faults) {
	t := s.types[key]
	items, single := []string{text}, t.Kind() != reflect.Slice
	if !single {
		items, t = strings.Split(text, ","), t.Elem()
	}
	list := reflect.MakeSlice(reflect.SliceOf(t), 0, len(items))
	for _, item := range items {
		if value, err := parse(t, strings.TrimSpace(item)); faults.took(err, key, at) {
			list = reflect.Append(list, reflect.ValueOf(value))
		}
	}
	switch {
	case list.Len() < len(items):
	case single:
		l.set(key, list.Index(0).Interface(), at)
	default:
		l.set(key, list.Interface(), at)
	}
}
