package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

// decode sets the settings of c that pmcheck.yaml, the environment or the flag --listen has, and
// returns where each is from. One with a mistake keeps its default.
func (o Options) decode(c *Config, name string, data []byte, found *faults) map[string]place {
	v, settings, places := viper.New(), fields(c), map[string]place{}
	file := yamlFile{name, map[string]bool{}, places, found}
	for _, f := range settings {
		file.known[f.key] = false
		if section, _, nested := strings.Cut(f.key, "."); nested {
			file.known[section] = true
		}
	}
	_ = v.MergeConfigMap(file.read(data)) // it returns no error
	o.override(v, settings, places, found)
	for _, f := range settings {
		if !v.IsSet(f.key) {
			continue
		}
		value := reflect.New(f.value.Type())
		if err := v.UnmarshalKey(f.key, value.Interface(), viper.DecodeHook(hook)); err != nil {
			found.take(err, f.key, places[f.key])
			continue
		}
		f.value.Set(value.Elem())
	}
	return places
}

// A yamlFile is read in one pass over its nodes: they have lines, and viper's own reader folds the
// case of keys and ignores those without a value.
type yamlFile struct {
	name   string
	known  map[string]bool // every key; true for a section
	places map[string]place
	faults *faults
}

// read returns the settings by section and key.
func (y yamlFile) read(data []byte) (settings map[string]any) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for first := true; ; first = false {
		var doc yaml.Node
		switch err := decoder.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return settings
		case err != nil:
			line, text := 0, strings.TrimPrefix(err.Error(), "yaml: ")
			if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
				_, text, _ = strings.Cut(text, ": ")
			}
			y.fault(line, "", "not YAML: "+text, "")
			return settings
		case first:
			settings = y.section("", doc.Content[0])
		default:
			y.fault(doc.Line, "", "a second document begins", "remove the --- line")
			return settings
		}
	}
}

// section reads one mapping. A section without settings is valid: all of its lines may be commented out.
func (y yamlFile) section(prefix string, n *yaml.Node) map[string]any {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		y.fault(n.Line, strings.TrimSuffix(prefix, "."), "is not a section", "write key: value")
		return nil
	}
	settings, seen := map[string]any{}, map[string]int{}
	for pair := range slices.Chunk(n.Content, 2) {
		name, v, line := pair[0].Value, pair[1], pair[0].Line
		key := prefix + name
		section, known := y.known[key]
		switch {
		case seen[name] > 0:
			y.fault(line, "", fmt.Sprintf("%s is set twice, first in line %d", show(key), seen[name]), "")
		case strings.Contains(name, "."):
			y.fault(line, "", "unknown setting "+show(key), "dots are written as sections, one inside the other")
		case !known:
			y.fault(line, "", "unknown setting "+show(key), suggest(key, slices.Sorted(maps.Keys(y.known))))
		case section:
			settings[name] = y.section(key+".", v)
		case slices.ContainsFunc(append([]*yaml.Node{v}, v.Content...), isNull):
			y.fault(line, key, "has no value", "write one, or leave the line out")
		default:
			var value any
			y.places[key] = inFile(layerFile, y.name, line)
			y.faults.take(v.Decode(&value), key, y.places[key])
			settings[name] = value
		}
		seen[name] = line
	}
	return settings
}

func isNull(n *yaml.Node) bool { return n.ShortTag() == "!!null" }

func (y yamlFile) fault(line int, key, problem, hint string) {
	y.faults.add(inFile(layerFile, y.name, line), key, problem, hint)
}

// override gives v the values of the PMCHECK_ variables and of --listen, except the variables that are
// no settings. An empty variable is a fault, since it may be meant as unset or as empty text.
func (o Options) override(v *viper.Viper, settings []field, places map[string]place, found *faults) {
	variables := []string{"config"}
	for _, f := range settings {
		variables = append(variables, strings.ReplaceAll(f.key, ".", "_"))
	}
	for i, pair := range o.Environ {
		name, text, _ := strings.Cut(pair, "=")
		special := slices.Contains([]string{fileVariable, holdsVariable, socketVariable}, name)
		if !strings.HasPrefix(name, "PMCHECK_") || special {
			continue
		}
		at := place{layerEnviron, i, "environment " + show(name)}
		key := slices.IndexFunc(settings, func(f field) bool { return variable(f.key) == name })
		switch {
		case key < 0:
			near, hint := Nearest(strings.TrimPrefix(name, "PMCHECK_"), variables), ""
			if near != "" {
				hint = "did you mean " + variable(near) + "?"
			}
			found.add(at, "", "unknown variable", hint)
		case text == "":
			found.add(at, settings[key].key, "is empty", "unset it, or give it a value")
		default:
			v.Set(settings[key].key, text)
			places[settings[key].key] = at
		}
	}
	if o.Listen != nil {
		v.Set("listen", *o.Listen)
		places["listen"] = place{layerFlags, 0, "flag --listen"}
	}
}

// variable returns the name of the environment variable of a key.
func variable(key string) string {
	return "PMCHECK_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}
