package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

// decode sets the settings of c that pmcheck.yaml, the environment or the flag --listen has, and
// returns where each is from. One with a mistake keeps its default.
func (o Options) decode(c *Config, name string, data []byte, found *faults) map[string]place {
	v, file := viper.New(), newFileReader(name, c, found)
	_ = v.MergeConfigMap(file.read(data)) // it returns no error
	o.override(v, file.places, found)
	for _, f := range fields(c) {
		if !v.IsSet(f.key) {
			continue
		}
		value := reflect.New(f.value.Type())
		err := v.UnmarshalKey(f.key, value.Interface(), viper.DecodeHook(file.hook(f.key)))
		if err == nil {
			f.value.Set(value.Elem())
		}
		found.take(err, f.key, file.places[f.key])
	}
	return file.places
}

// hook returns a function that decodes a value of pmcheck.yaml, which is a node, or the text of a
// variable or the flag, in which the items of a list are separated by commas.
func (r *fileReader) hook(key string) func(from, to reflect.Type, data any) (any, error) {
	return func(_, to reflect.Type, data any) (any, error) {
		list := to.Kind() == reflect.Slice
		switch v := data.(type) {
		case *yaml.Node:
			if list {
				return r.items(v)
			}
			value, err := parseNode(to, v)
			if err != nil && key == "listen" && v.ShortTag() == "!!int" {
				err = wrong(v.Value+" is not an address", `":`+v.Value+`" for every interface`)
			}
			return value, r.locate(err, v)
		case string:
			if list {
				return strings.Split(v, ","), nil
			}
			return parse(to, strings.TrimSpace(v))
		}
		return data, nil
	}
}

// override gives v the values of the PMCHECK_ variables and of --listen, except PMCHECK_CONFIG,
// which names the file and is read with the command line, and those that are not settings. An empty
// variable is a fault, since it may be meant as unset or as empty text.
func (o Options) override(v *viper.Viper, places map[string]place, found *faults) {
	known := map[string]string{}
	var keys []string
	c := Default()
	for _, f := range fields(&c) {
		known[variable(f.key)] = f.key
		keys = append(keys, f.key)
	}
	for i, pair := range o.Environ {
		name, text, _ := strings.Cut(pair, "=")
		special := slices.Contains([]string{"PMCHECK_CONFIG", holdsVariable, socketVariable}, name)
		if !strings.HasPrefix(name, "PMCHECK_") || special {
			continue
		}
		at := place{layerEnviron, i, "environment " + show(name)}
		switch key, ok := known[name]; {
		case !ok:
			hint := ""
			if key := Nearest(strings.TrimPrefix(name, "PMCHECK_"), append(keys, "config")); key != "" {
				hint = "did you mean " + variable(key) + "?"
			}
			found.add(at, "", "unknown variable", hint)
		case text == "":
			found.add(at, key, "is empty", "unset it, or give it a value")
		default:
			v.Set(key, text)
			places[key] = at
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
