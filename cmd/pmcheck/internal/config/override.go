package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// environ reads the PMCHECK_ variables, but for PMCHECK_CONFIG, which is the command
// line's: it names the file. An empty one is a fault, since it can
// be meant as unset or as empty text.
func (s schema) environ(environ []string, faults *faults) layer {
	known := map[string]string{}
	for _, key := range s.keys {
		known[variable(key)] = key
	}
	l := layer{}
	for i, pair := range environ {
		name, text, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "PMCHECK_") || name == "PMCHECK_CONFIG" {
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

// flags reads the values given on the command line.
func (s schema) flags(flags map[string]string, faults *faults) layer {
	l := layer{}
	for i, key := range slices.Sorted(maps.Keys(flags)) {
		at := place{layerFlags, i, "flag --" + strings.NewReplacer(".", "-", "_", "-").Replace(key)}
		if s.types[key] == nil {
			faults.add(at, "", "unknown setting "+show(key), s.suggest(key))
			continue
		}
		s.override(l, key, flags[key], at, faults)
	}
	return l
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
