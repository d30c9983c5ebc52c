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

// A layer is what one source says: typed values by dotted key.
type layer map[string]entry

type entry struct {
	value any
	at    place
}

func (l layer) set(key string, value any, at place) { l[key] = entry{value, at} }

// defaultLayer makes the weakest layer of a configuration.
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

// A schema is what may be set: every key with its type, and the sections.
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

// suggest names the setting or section nearest to an unknown one.
func (s schema) suggest(key string) string {
	return suggest(key, slices.Concat(s.keys, slices.Sorted(maps.Keys(s.sections))))
}

// variable returns the name of the environment variable of a key.
func variable(key string) string {
	return "PMCHECK_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}
