package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
)

// decode sets the settings that pmcheck.yaml or the environment has. A value that cannot be read is not set.
func (l *Loaded) decode(file string, data []byte) {
	v := viper.New()
	_ = v.MergeConfigMap(l.read(file, data)) // it returns no error
	l.override(v)
	for _, f := range fields(&l.Config) {
		if v.IsSet(f.key) {
			err := v.UnmarshalKey(f.key, f.value.Addr().Interface(), viper.DecodeHook(hook))
			l.take(err, f.key, l.places[f.key])
		}
	}
}

// read returns the settings in a file, by section and key. It reads them in one pass over the nodes: they have lines,
// and viper's own reader folds the case of keys and ignores those without a value.
func (l *Loaded) read(file string, data []byte) map[string]any {
	var doc, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF): // nothing, or comments only
		return nil
	case err != nil:
		l.fault(place{file, 0}, "", "not YAML: "+strings.TrimPrefix(err.Error(), "yaml: "), "")
		return nil
	case !errors.Is(decoder.Decode(&second), io.EOF):
		l.fault(place{file, second.Line}, "", "a second document begins", "remove the --- line")
	}
	return l.section(file, "", doc.Content[0])
}

// section reads one mapping. A section without settings is valid: all of its lines may be commented out.
func (l *Loaded) section(file, prefix string, n *yaml.Node) map[string]any {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		l.fault(place{file, n.Line}, strings.TrimSuffix(prefix, "."), "is not a section", "write key: value")
		return nil
	}
	settings, seen, keys := map[string]any{}, map[string]int{}, l.keys()
	for pair := range slices.Chunk(n.Content, 2) {
		name, v := pair[0].Value, pair[1]
		key, at := prefix+name, place{file, pair[0].Line}
		section, known := keys[key]
		switch {
		case seen[name] > 0:
			l.fault(at, "", fmt.Sprintf("%s is set twice, first in line %d", show(key), seen[name]), "")
		case strings.Contains(name, "."):
			l.fault(at, "", "unknown setting "+show(key), "dots are written as sections, one inside the other")
		case !known:
			l.fault(at, "", "unknown setting "+show(key), suggest(key, slices.Sorted(maps.Keys(keys))))
		case section:
			settings[name] = l.section(file, key+".", v)
		case slices.ContainsFunc(append([]*yaml.Node{v}, v.Content...), isNull):
			l.fault(at, key, "has no value", "write one, or leave the line out")
		default:
			settings[name], l.places[key] = l.value(v, key, at), at
		}
		seen[name] = at.line
	}
	return settings
}

func (l *Loaded) value(n *yaml.Node, key string, at place) any {
	var text string
	if n.Decode(&text) == nil {
		return text
	}
	var list []string
	if n.Decode(&list) == nil {
		return list
	}
	l.fault(at, key, "is neither a value nor a list of values", "")
	return nil
}

func (l *Loaded) keys() map[string]bool {
	keys := map[string]bool{}
	for _, f := range fields(&l.Config) {
		keys[f.key] = false
		if section, _, nested := strings.Cut(f.key, "."); nested {
			keys[section] = true
		}
	}
	return keys
}

func isNull(n *yaml.Node) bool { return n.ShortTag() == "!!null" }

// override takes the PMCHECK_ variables: v gets the values of settings. An empty variable is a fault, since it may be
// meant as unset or as empty text.
func (l *Loaded) override(v *viper.Viper) {
	given := map[string]string{}
	for _, pair := range l.options.Environ {
		if name, text, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "PMCHECK_") {
			given[name] = text
		}
	}
	if dir := given["PMCHECK_HOLDS"]; dir != "" {
		l.Config.HoldsIn, l.Config.Socket = dir, filepath.Join(dir, "pmcheck.sock")
	}
	l.Config.Socket = cmp.Or(given["PMCHECK_SOCKET"], l.Config.Socket)
	known := []string{"PMCHECK_CONFIG", "PMCHECK_HOLDS", "PMCHECK_SOCKET"} // the first is read with the command line
	for _, f := range fields(&l.Config) {
		name := "PMCHECK_" + strings.ToUpper(strings.ReplaceAll(f.key, ".", "_"))
		known = append(known, name)
		if text, set := given[name]; text != "" {
			v.Set(f.key, text)
			l.places[f.key] = place{"environment " + name, 0}
		} else if set {
			l.fault(place{"environment " + name, 0}, f.key, "is empty", "unset it, or give it a value")
		}
	}
	for name := range given {
		if !slices.Contains(known, name) {
			l.fault(place{"environment " + show(name), 0}, "", "unknown variable", "")
		}
	}
}

type field struct {
	key   string
	value reflect.Value
	tag   reflect.StructTag
}

// fields returns the settings of c in the order of the struct. Its structs are
// sections, named by their yaml tags. A field with the tag yaml:"-" is derived, and no setting.
func fields(c *Config) []field { return appendFields(nil, "", reflect.ValueOf(c).Elem()) }

func appendFields(list []field, prefix string, v reflect.Value) []field {
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i).Tag
		key, set := tag.Lookup("yaml")
		checks, are := f.Interface().(check.List)
		switch {
		case are:
			list = appendChecks(list, checks)
		case v.Type().Field(i).Anonymous:
			list = appendFields(list, prefix, f)
		case f.Kind() == reflect.Struct:
			list = appendFields(list, prefix+key+".", f)
		case set && key != "-":
			list = append(list, field{prefix + key, f, tag})
		}
	}
	return list
}

// appendChecks appends the severities of all checks but the probe, then the settings of each check.
func appendChecks(list []field, checks check.List) []field {
	for i := range checks {
		if name := checks[i].Name; name != check.CheckProbe {
			list = append(list, field{"checks." + name, reflect.ValueOf(&checks[i].Severity).Elem(), ""})
		}
	}

	for _, c := range checks {
		if c.Settings != nil {
			list = appendFields(list, c.Name+".", reflect.ValueOf(c.Settings).Elem())
		}
	}
	return list
}

// An enum is a setting with a closed vocabulary; Words lists it.
type enum interface{ Words() []string }

// hook decodes the text of a value, or a list of texts, which is one text in a variable: its items are separated by
// commas.
func hook(_, to reflect.Type, data any) (any, error) {
	s, isText := data.(string)
	switch {
	case to.Kind() == reflect.Slice && isText:
		return strings.Split(s, ","), nil
	case to.Kind() == reflect.Slice:
		return data, nil
	case !isText:
		return nil, wrong("a list is not a value", "")
	}
	return parse(to, strings.TrimSpace(s))
}

// parse turns the text of one value into the type of a setting.
func parse(t reflect.Type, s string) (any, error) {
	switch zero := reflect.Zero(t).Interface().(type) {
	case time.Duration:
		return ParseDuration(s)
	case netip.Prefix:
		return parsePrefix(s)
	case int:
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, wrong(show(s)+" is not a whole number", "")
		}
		return n, nil
	case enum:
		words := zero.Words()
		if s == "false" && slices.Contains(words, "off") {
			s = "off" // in YAML 1.1, which Puppet reads and writes, a bare off means false
		}
		if !slices.Contains(words, s) {
			return nil, wrong(show(s)+" is not one of "+strings.Join(words, ", "), "")
		}
		return reflect.ValueOf(s).Convert(t).Interface(), nil
	}
	return s, nil
}

// ParseDuration parses a duration in the format of all settings: that of
// time.ParseDuration, or with days and weeks, such as 30d or 2w.
func ParseDuration(s string) (time.Duration, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, nil
	}
	d, err := model.ParseDuration(s)
	if err != nil {
		return 0, wrong(show(s)+" is not a duration", "such as 1500ms, 2s or 30d")
	}
	return time.Duration(d), nil
}

// parsePrefix accepts a network, or a bare address as the network of that address alone.
func parsePrefix(text string) (any, error) {
	p, err := netip.ParsePrefix(text)
	if addr, addrErr := netip.ParseAddr(text); addrErr == nil && addr.Zone() == "" {
		p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	switch {
	case err != nil || p.Addr().Is4In6():
		return nil, wrong(show(text)+" is not a network", "such as 10.0.0.0/8 or 2001:db8::/32")
	case p != p.Masked():
		return nil, wrong(show(text)+" has bits beyond its mask", p.Masked().String())
	}
	return p, nil
}

func format(v reflect.Value) string {
	value := v.Interface()
	switch x := value.(type) {
	case time.Duration:
		value = text.Duration(x)
	case MaxOut:
		return string(x)
	}
	var n yaml.Node
	_ = n.Encode(value) // no setting is of a type that has no YAML
	n.Style |= yaml.FlowStyle
	out, _ := yaml.Marshal(&n)
	return strings.TrimSpace(string(out))
}
